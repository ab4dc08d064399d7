package fsck_test

import (
	"context"
	"testing"

	"larder/internal/db"
	"larder/internal/files"
	"larder/internal/fsck"
	"larder/internal/site"
	"larder/internal/vpath"
)

// The records of the trash and what quotas keep are compared with the entries in it, and are set
// right with Repairs.Trash. An entry that has lost its record can be restored to another folder.
func TestTrashIsChecked(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		alice := s.text("SELECT id FROM users WHERE username = 'alice'")
		tree := s.l.Apps[0].Tree
		s.l.ChangeSettings(t, func(s *site.Settings) { s.TrashDays = 30 })
		boss, _, err := tree.Owner(context.Background(), version(t, s),
			s.text("SELECT id FROM users WHERE username = 'admin'"))
		s.must(err)
		_, err = tree.DeleteTo(context.Background(), boss, s.photo, files.ToTrash)
		s.must(err)
		if lines, _ := s.check(deep); len(lines) > 0 {
			t.Fatalf("a file in the trash: %q", lines)
		}
		repair := fsck.Options{Repair: fsck.Repairs{Trash: true}}
		for _, c := range []struct{ breaks, about string }{
			{"UPDATE quotas SET kept_storage = 1 WHERE user_id = '" + alice + "'", alice},
			{"DELETE FROM trash", s.photo},
			{"INSERT INTO trash_sizes VALUES ('none', '" + alice + "', 1, 5)", "none"},
		} {
			s.exec(c.breaks)
			lines, _ := s.check(fsck.Options{})
			if len(lines) == 0 {
				t.Fatalf("%s: nothing is found", c.breaks)
			}
			s.check(repair)
			s.check(repair) // the counts follow the records
			if lines, _ := s.check(deep); len(lines) > 0 {
				t.Fatalf("%s: after the repair %q", c.breaks, lines)
			}
		}
		// a version of a file that an older replica has deleted
		object := s.text("SELECT object_id FROM entries WHERE id = $1", s.photo)
		s.exec("UPDATE objects SET refs = refs + 1 WHERE id = $1", object)
		s.exec("UPDATE quotas SET kept_storage = kept_storage + 5 WHERE user_id = $1", alice)
		s.exec(`
			INSERT INTO past (entry_id, since, until, parent_id, name, size, mime_type, owner_id, object_id, op)
			VALUES ('gone', 1, 2, 'p', 'n', 5, '', $1, $2, 'replace')`, alice, object)
		if lines, _ := s.check(fsck.Options{}); len(lines) != 1 {
			t.Fatalf("a version of no file: %q", lines)
		}
		s.check(repair)
		if lines, _ := s.check(deep); len(lines) > 0 {
			t.Fatalf("after its repair: %q", lines)
		}
		target, err := vpath.Parse("/home/alice")
		s.must(err)
		back, err := tree.Restore(context.Background(), boss, s.photo, files.RestoreOptions{Target: &target})
		s.must(err)
		if back.Entry.ID != s.photo || back.Entry.Size != 12 {
			t.Errorf("restored %+v", back.Entry)
		}
		if lines, _ := s.check(deep); len(lines) > 0 {
			t.Errorf("after the restore: %q", lines)
		}
	})
}

func version(t *testing.T, s *fixture) int64 {
	t.Helper()
	v, err := db.ConfigVersion(s.l.Apps[0].DB.Read(context.Background()))
	s.must(err)
	return v
}
