package mount_test

import (
	"slices"
	"testing"

	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/mount"
	"larder/internal/vpath"
)

func path(t *testing.T, s string) vpath.Path {
	t.Helper()
	p, err := vpath.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestResolve(t *testing.T) {
	m := func(id, p string, priority int) mount.Mount {
		return mount.Mount{ID: id, RootID: "root of " + id, Path: path(t, p), Priority: priority}
	}
	table := mount.NewTable([]mount.Mount{
		m("root", "/", 0), m("pub", "/pub", 0), m("priv", "/pub/priv", 0), m("low", "/low", -1), m("top", "/top", 5),
		m("under", "/top/under", 0),
		m("twin-b", "/twin", 0), m("twin-a", "/twin", 0),
	})
	for p, want := range map[string]string{
		// abuse case C19
		"/": "root", "/x": "root", "/pub": "pub", "/pub/x": "pub", "/publ": "root", "/pub/priv": "priv",
		"/pub/priv/x": "priv",
		"/low/x":      "root", "/top/under/x": "top", "/twin/x": "twin-a",
	} {
		got, found := table.Resolve(path(t, p))
		if !found || got.ID != want {
			t.Errorf("%s is covered by %q, want %q", p, got.ID, want)
		}
	}
	var within []string
	for _, m := range table.Below(vpath.Root) {
		within = append(within, m.ID)
	}
	slices.Sort(within)
	if want := []string{"priv", "pub", "top", "twin-a"}; !slices.Equal(within, want) {
		t.Errorf("mounts below the root: %q, want %q", within, want)
	}
	if len(table.Below(path(t, "/pub/priv"))) != 0 {
		t.Error("Below returns the mount at the path itself")
	}
	if _, found := mount.NewTable([]mount.Mount{m("a", "/a", 0)}).Resolve(path(t, "/b")); found {
		t.Error("a path under no mount is covered")
	}
	if got := table.ByRoot("root of pub"); len(got) != 1 || got[0].ID != "pub" {
		t.Errorf("by root: %+v", got)
	}
	if got, found := table.ByID("low"); !found || got.Path != path(t, "/low") {
		t.Errorf("by id: %+v", got)
	}
}

func TestStoreFollowsTheConfigVersion(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := mount.New(d)
		at := func() (version int64, table *mount.Table) {
			t.Helper()
			version, err := db.ConfigVersion(d.Read(t.Context()))
			if err != nil {
				t.Fatal(err)
			}
			if table, err = s.Table(t.Context(), version); err != nil {
				t.Fatal(err)
			}
			return version, table
		}
		before, empty := at()
		if _, found := empty.Resolve(vpath.Root); found {
			t.Error("an empty database has a mount")
		}
		want := mount.Mount{ID: "m", ProviderID: "p", RootID: "r", Path: path(t, "/a/b"), Name: "N", SortBy: "time",
			SortOrder: "desc", Priority: 7}
		err := d.Write(t.Context(), func(tx *db.Tx) error { return s.Insert(tx, want, 1) })
		if err != nil {
			t.Fatal(err)
		}
		after, table := at()
		want.CreatedAt, want.UpdatedAt = 1, 1
		if got, _ := table.ByID("m"); after <= before || got != want {
			t.Errorf("version %d to %d, mount %+v", before, after, got)
		}
		if _, again := at(); again != table {
			t.Error("the mounts were read again although nothing changed")
		}
	})
}
