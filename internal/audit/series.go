package audit

import (
	"context"
	"fmt"
)

// Measure is the quantity that a Series returns.
type Measure string

// The measures. Requests and ServerErrors are counted apart from the entries. The others are
// computed from the entries of successful requests, FailedLogins from those of failed logins, and
// Errors from all with a status of 400 or more.
const (
	Requests      Measure = "requests"     // of the last 24 hours only
	ServerErrors  Measure = "serverErrors" // requests with a status of 500 or more, of the last 24 hours only
	Errors        Measure = "errors"
	Uploads       Measure = "uploads"
	UploadBytes   Measure = "uploadBytes"
	Downloads     Measure = "downloads"
	DownloadBytes Measure = "downloadBytes"
	Logins        Measure = "logins"
	FailedLogins  Measure = "failedLogins"
)

// measures says which entries a measure counts: those of two actions (or the same action twice, or
// of all actions), failed or successful, and whether it sums their bytes.
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
	Errors:        {failed: true},
}

// Series returns a measure, such as uploads, over the span from (inclusive) to to (exclusive, both
// ms), in steps of step ms, for a chart. The keys are the numbers of the steps, which start at 0;
// steps without data are missing. Minutes of requests and sums of an hour count at the time at
// which they begin. Entries of the last second may be missing.
func (l *Log) Series(ctx context.Context, measure Measure, from, to, step int64) (points map[int64]int64, err error) {
	read := l.DB.Read(ctx)
	switch measure {
	case Requests:
		points, err = minuteSeries(read, "requests", from, to, step)
	case ServerErrors:
		points, err = minuteSeries(read, "failed", from, to, step)
	default:
		points, err = entrySeries(read, measure, from, to, step)
	}
	if err != nil {
		return nil, fmt.Errorf("series of %s: %w", measure, err)
	}
	return points, nil
}
