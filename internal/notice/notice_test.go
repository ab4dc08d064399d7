package notice_test

import (
	"fmt"
	"testing"
	"time"

	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/notice"
)

// fixture is a database with the accounts ann and bob.
type fixture struct {
	t       *testing.T
	db      *db.DB
	service *notice.Service
	now     int64 // ms
	serial  int
}

func each(t *testing.T, test func(f *fixture)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := &fixture{t: t, db: d, now: 1_800_000_000_000}
		f.service = notice.New(notice.Config{DB: d, Now: func() time.Time { return time.UnixMilli(f.now) }})
		for _, name := range []string{"ann", "bob"} {
			f.write(func(tx *db.Tx) error {
				_, err := tx.Exec(`
					INSERT INTO users (id, username, username_fold, email, email_fold, email_verified, password_hash, role,
						status, default_path, locale, theme, accent_color, enable_blur, session_version, role_version,
						created_at, updated_at)
					VALUES ($1, $1, $1, $1, $1, TRUE, '', 'user', 'active', '/', 'en-US', 'system', '#3b6cf6', TRUE, 1, 1, 1, 1)`,
					name)
				return err
			})
		}
		test(f)
	})
}

func (f *fixture) write(do func(tx *db.Tx) error) {
	f.t.Helper()
	if err := f.db.Write(f.t.Context(), do); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) insert(userID string, kind notice.Kind, subject string, params notice.Params) {
	f.t.Helper()
	f.serial++
	id := fmt.Sprintf("n%04d", f.serial)
	f.write(func(tx *db.Tx) error {
		return notice.Insert(tx, notice.Event{ID: id, UserID: userID, Kind: kind, Subject: subject, Params: params,
			At: f.now})
	})
}

func (f *fixture) list(userID string) (all []notice.Notification) {
	f.t.Helper()
	all, _, err := f.service.List(f.t.Context(), userID, "", 1000)
	if err != nil {
		f.t.Fatal(err)
	}
	return all
}

func (f *fixture) want(what, userID string, want int) {
	f.t.Helper()
	if got := f.list(userID); len(got) != want {
		f.t.Errorf("%s: %d notifications, want %d: %+v", what, len(got), want, got)
	}
}

// The same event is told once to an account, read or not, and once to each account that it is
// about. Another kind may use the same subject.
func TestAnEventIsToldOnce(t *testing.T) {
	each(t, func(f *fixture) {
		f.insert("ann", notice.Upload, "u1", notice.Params{Name: "first"})
		f.insert("ann", notice.Upload, "u1", notice.Params{Name: "second"})
		f.want("twice", "ann", 1)
		if name := f.list("ann")[0].Params.Name; name != "first" {
			t.Errorf("the parameters are those of the %s", name)
		}
		if _, err := f.service.MarkAllRead(t.Context(), "ann"); err != nil {
			t.Fatal(err)
		}
		f.insert("ann", notice.Upload, "u1", notice.Params{})
		f.want("after reading", "ann", 1)
		f.insert("ann", notice.Share, "u1", notice.Params{})
		f.want("of another kind", "ann", 2)
		f.insert("bob", notice.Upload, "u1", notice.Params{})
		f.want("of another account", "bob", 1)
		f.insert("nobody", notice.Upload, "u1", notice.Params{})
		f.want("of no account", "nobody", 0)
	})
}

// Completed jobs of one type and target share an unread notification for ten minutes.
func TestJobsShareANotification(t *testing.T) {
	each(t, func(f *fixture) {
		files := func(n int64) *int64 { return &n }
		move := notice.Params{JobType: "move", Path: "/a", Files: files(2)}
		failed := notice.Params{JobType: "move", Path: "/a", Failed: true, Message: "No."}
		f.insert("ann", notice.Job, "j1", failed)
		f.insert("ann", notice.Job, "j2", move)
		f.want("not with a failed one", "ann", 2)
		f.now += 10 * time.Minute.Milliseconds()
		f.insert("ann", notice.Job, "j3", move)
		f.want("ten minutes later", "ann", 2)
		if got := f.list("ann")[0]; got.Params.Jobs != 2 || *got.Params.Files != 4 || got.CreatedAt != f.now {
			t.Errorf("two jobs: %+v", got)
		}
		f.insert("ann", notice.Job, "j4", failed)
		f.want("a failed one", "ann", 3)
		f.insert("ann", notice.Job, "j5", notice.Params{JobType: "move", Path: "/b", Files: files(1)})
		f.want("another target", "ann", 4)
		f.insert("ann", notice.Job, "j6", notice.Params{JobType: "copy", Path: "/a", Files: files(1)})
		f.want("another type", "ann", 5)
		f.insert("bob", notice.Job, "j7", move)
		f.want("another account", "bob", 1)
		f.now += 10*time.Minute.Milliseconds() + 1
		f.insert("ann", notice.Job, "j8", move)
		f.want("more than ten minutes later", "ann", 6)
		if _, err := f.service.MarkAllRead(t.Context(), "ann"); err != nil {
			t.Fatal(err)
		}
		f.insert("ann", notice.Job, "j9", move)
		f.want("after reading", "ann", 7)
	})
}
