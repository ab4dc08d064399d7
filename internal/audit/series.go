package audit

import (
	"context"
	"fmt"
)

// Measure is what a Series counts.
type Measure string

// What can be counted. All but Requests come from the entries of requests that succeeded,
// and the failed logins.
const (
	Requests      Measure = "requests" // of the last 24 hours only
	Uploads       Measure = "uploads"
	UploadBytes   Measure = "uploadBytes"
	Downloads     Measure = "downloads"
	DownloadBytes Measure = "downloadBytes"
	Logins        Measure = "logins"
	FailedLogins  Measure = "failedLogins"
)

// measures is which entries a series counts: those of two actions (or twice of one), failed or
// not, or their bytes.
var measures = map[Measure]struct {
	actions       [2]Action
	failed, bytes bool
}{
	Uploads:       {actions: [2]Action{Upload, Upload}},
	UploadBytes:   {actions: [2]Action{Upload, Upload}, bytes: true},
	Downloads:     {actions: [2]Action{Download, ShareDownload}},
	DownloadBytes: {actions: [2]Action{Download, ShareDownload}, bytes: true},
	Logins:        {actions: [2]Action{Login, Login}},
	FailedLogins:  {actions: [2]Action{LoginFailed, LoginFailed}, failed: true},
}

// Series counts for each step of a span from a time on, up to but without another (ms), by the
// step's number from 0; steps without anything are missing. Minutes of requests and hours of sums
// count where they begin. What was noted in the last second may be missing.
func (l *Log) Series(ctx context.Context, measure Measure, from, to, step int64) (points map[int64]int64, err error) {
	read := l.DB.Read(ctx)
	if measure == Requests {
		points, err = minuteSeries(read, from, to, step)
	} else {
		points, err = entrySeries(read, measure, from, to, step)
	}
	if err != nil {
		return nil, fmt.Errorf("series of %s: %w", measure, err)
	}
	return points, nil
}
