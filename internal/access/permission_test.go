package access_test

import (
	"slices"
	"testing"

	"larder/internal/access"
	"larder/internal/fault"
)

func TestParseSet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in, want []string
	}{
		{nil, []string{}},
		{[]string{"download", "read"}, []string{"read", "download"}},
		{[]string{"share", "share"}, []string{"share"}},
		{[]string{"download", "share", "delete", "update", "write", "read"},
			[]string{"read", "write", "update", "delete", "share", "download"}},
	} {
		set, err := access.ParseSet(c.in)
		if err != nil || set.Names() == nil || !slices.Equal(set.Names(), c.want) {
			t.Errorf("ParseSet(%q) = %q, %v; want %q", c.in, set.Names(), err, c.want)
		}
	}
	for _, bad := range []string{"", "Read", "list", "read,write"} {
		if _, err := access.ParseSet([]string{"read", bad}); !fault.Is(err, fault.Invalid) {
			t.Errorf("ParseSet(%q) = %v; want an Invalid fault", bad, err)
		}
	}
}

func TestSetHas(t *testing.T) {
	t.Parallel()
	set := access.Set(access.Read | access.Share)
	for p, want := range map[access.Permission]bool{
		access.Read: true, access.Write: false, access.Share: true, access.Download: false, 0: false,
		access.Read | access.Write: false,
	} {
		if set.Has(p) != want {
			t.Errorf("Has(%v) = %v", p, !want)
		}
	}
	if got := access.All.Names(); len(got) != 6 {
		t.Errorf("All = %v", got)
	}
}

func TestKeyPermissions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want []string }{
		{[]string{"read"}, []string{"read", "download"}},
		{[]string{"write"}, []string{"write", "update"}},
		{[]string{"delete"}, []string{"delete"}},
		{[]string{"delete", "write", "read"}, []string{"read", "write", "update", "delete", "download"}},
	} {
		set, err := access.KeyPermissions(c.in)
		if err != nil || !slices.Equal(set.Names(), c.want) {
			t.Errorf("KeyPermissions(%q) = %q, %v; want %q", c.in, set.Names(), err, c.want)
		}
	}
	for _, bad := range [][]string{nil, {"share"}, {"read", "update"}, {"download"}} {
		if _, err := access.KeyPermissions(bad); !fault.Is(err, fault.Invalid) {
			t.Errorf("KeyPermissions(%q) = %v; want an Invalid fault", bad, err)
		}
	}
}

func TestParseRole(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"admin", "user", "guest"} {
		if role, err := access.ParseRole(good); err != nil || string(role) != good {
			t.Errorf("ParseRole(%q) = %q, %v", good, role, err)
		}
	}
	for _, bad := range []string{"", "Admin", "root"} {
		if _, err := access.ParseRole(bad); !fault.Is(err, fault.Invalid) {
			t.Errorf("ParseRole(%q) = %v; want an Invalid fault", bad, err)
		}
	}
}
