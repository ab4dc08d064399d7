package audit

import (
	"context"
	"fmt"
)

// Of is what a Series counts.
type Of string

// What can be counted. All but Requests come from the entries of requests that succeeded, and the failed logins.
const (
	Requests      Of = "requests" // of the last 24 hours only
	Uploads       Of = "uploads"
	UploadBytes   Of = "uploadBytes"
	Downloads     Of = "downloads"
	DownloadBytes Of = "downloadBytes"
	Logins        Of = "logins"
	FailedLogins  Of = "failedLogins"
)

// counted is which entries a series counts: those of two actions (or twice of one), failed or not, or their bytes.
var counted = map[Of]struct {
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

// Series counts for each step of a span from a time on, up to but without another (ms), by the step's number from 0; steps without anything are
// missing. Minutes of requests and hours of sums count where they begin. What was noted in the last second may be missing.
func (l *Log) Series(ctx context.Context, of Of, from, to, step int64) (points map[int64]int64, err error) {
	read := l.DB.Read(ctx)
	if of == Requests {
		points, err = minuteSeries(read, from, to, step)
	} else {
		points, err = entrySeries(read, of, from, to, step)
	}
	if err != nil {
		return nil, fmt.Errorf("series of %s: %w", of, err)
	}
	return points, nil
}
