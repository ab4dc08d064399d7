package api_test

import (
	"fmt"
	"testing"
	"time"

	"larder/internal/apptest"
)

func TestTopDownloads(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, visitor := l.Admin(t), l.Client(t)
		admin.Upload("/public", "large", []byte("1234567890"))
		admin.Upload("/public", "small", []byte("123"))
		// the beginning of an hour, which both replicas sum together
		l.Clock.Advance(time.Hour - time.Duration(l.Clock.Now().UnixNano())%time.Hour)
		from := l.Clock.Now().UnixMilli()
		for range 2 { // an even number each, for both replicas
			visitor.Get("/public/small").OK(200)
			visitor.Get("/public/small").OK(200)
		}
		admin.Get("/public/large").OK(200)
		admin.Get("/public/large").OK(200)
		visitor.Get("/public/none").Fails(404, "NOT_FOUND")
		l.Clock.Advance(time.Hour)
		l.FlushLog()
		small := M{"path": "/public/small", "count": 4, "bytes": 12}
		large := M{"path": "/public/large", "count": 2, "bytes": 20}
		span := fmt.Sprintf("&from=%d&to=%d", from, from+3600_000)
		for query, want := range map[string][]any{
			"by=bytes" + span: {large, small}, span: {large, small}, "by=count" + span: {small, large},
			"by=count&limit=1" + span: {small}, "by=count": {small, large},
			fmt.Sprintf("from=%d", from+1800_000): {},
		} {
			r := admin.In(t).Get("/api/admin/stats/top?" + query).OK(200)
			wantFields(t, query, r.Object()["data"], "paths", "from")
			wantJSON(t, query, r.Value("paths"), want)
		}
		if got := admin.Get("/api/admin/stats/top?" + span).OK(200).Int("from"); got != from {
			t.Errorf("summed from %d, want %d", got, from)
		}
		for _, query := range []string{"by=path", "limit=0", "limit=101", "from=2&to=2"} {
			admin.Get("/api/admin/stats/top?"+query).Fails(400, "VALIDATION_ERROR")
		}
	})
}

func TestStorageHistory(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		const day = 24 * time.Hour
		admin := l.Admin(t)
		local := admin.Get("/api/admin/storage/providers").OK(200).Text("providers.0.id")
		l.Clock.Advance(10*day - time.Duration(l.Clock.Now().UnixNano())%day) // days without figures before
		first := l.Clock.Now().UnixMilli()
		l.Sweep()
		admin = l.Admin(t)
		admin.Upload("/public", "a", []byte("12345"))
		l.Clock.Advance(time.Hour)
		l.Sweep()
		on := func(at, bytes, files int64) M {
			return M{"at": at, "storage": []any{M{"providerId": local, "usedSpace": bytes, "fileCount": files}}}
		}
		wantJSON(t, "the present day", admin.Get("/api/admin/stats/storage?days=2").OK(200).Value("days"),
			[]any{on(first, 5, 1)})
		l.Clock.Advance(day - time.Hour)
		l.Sweep()
		admin = l.Admin(t)
		second := first + day.Milliseconds()
		wantJSON(t, "the next day", admin.Get("/api/admin/stats/storage?days=2").OK(200).Value("days"),
			[]any{on(first, 0, 0), on(second, 5, 1)}) // as the service found the first day first
		wantJSON(t, "that day alone", admin.Get("/api/admin/stats/storage?days=1").OK(200).Value("days"),
			[]any{on(second, 5, 1)})
		for _, query := range []string{"days=0", "days=401", "days=x"} {
			admin.Get("/api/admin/stats/storage?"+query).Fails(400, "VALIDATION_ERROR")
		}
	})
}
