package account_test

import (
	"strings"
	"testing"

	"larder/internal/access"
	"larder/internal/account"
	"larder/internal/fault"
	"larder/internal/secret"
)

func TestNewUserCheck(t *testing.T) {
	t.Parallel()
	good := account.NewUser{Username: "ann", Email: "ann@example.org", Password: "12345678", Role: access.User}
	name := func(s string) account.NewUser { n := good; n.Username = s; return n }
	email := func(s string) account.NewUser { n := good; n.Email = s; return n }
	password := func(s string) account.NewUser { n := good; n.Password = secret.Text(s); return n }
	role := func(s string) account.NewUser { n := good; n.Role = access.Role(s); return n }
	locale := func(s string) account.NewUser { n := good; n.Locale = s; return n }
	path := func(s string) account.NewUser { n := good; n.DefaultPath = s; return n }
	for _, c := range []struct {
		what string
		user account.NewUser
		ok   bool
	}{
		{"valid", good, true},
		{"name of 2", name("ab"), false},
		{"name of 3", name("a_9"), true},
		{"name of 20", name("ABCDEFGHIJKLMNOPQRST"), true},
		{"name of 21", name("ABCDEFGHIJKLMNOPQRSTU"), false},
		{"no name", name(""), false},
		{"hyphen", name("ann-lee"), false},
		{"dot", name("ann.lee"), false},
		{"accent", name("rené"), false},
		{"other digits", name("ann١٢"), false},
		{"line end", name("ann\n"), false},
		{"NUL", name("ann\x00"), false},
		{"traversal", name("../x"), false},
		{"local address", email("admin@localhost"), true},
		{"plus and dots in the local part", email("a.b+c@mail.example.org"), true},
		{"address in another script", email("用户@例子.广告"), true},
		{"signs in the local part", email("o'neil&co#1/2@example.org"), true},
		{"host with hyphen", email("ann@my-mail.example.org"), true},
		{"host of 63 characters", email("ann@" + strings.Repeat("a", 63) + ".org"), true},
		{"host of 64 characters", email("ann@" + strings.Repeat("a", 64) + ".org"), false},
		{"slash in the host", email("ann@exa/mple.org"), false},
		{"sign in the host", email("ann@exam#ple.org"), false},
		{"hyphen before the host", email("ann@-example.org"), false},
		{"hyphen after a label", email("ann@example-.org"), false},
		{"dot after the host", email("ann@example.org."), false},
		{"sign in a host of another script", email("ann@例/子.广告"), false},
		{"254 bytes", email(strings.Repeat("a", 242) + "@example.org"), true},
		{"255 bytes", email(strings.Repeat("a", 243) + "@example.org"), false},
		{"no address", email(""), false},
		{"no at", email("ann.example.org"), false},
		{"no domain", email("ann@"), false},
		{"no local part", email("@example.org"), false},
		{"two addresses", email("a@example.org,b@example.org"), false},
		{"display name", email("Ann <ann@example.org>"), false},
		{"brackets", email("<ann@example.org>"), false},
		{"comment", email("ann@example.org(Ann)"), false},
		{"quoted", email(`"ann lee"@example.org`), false},
		{"quoted without need", email(`"ann"@example.org`), false},
		{"address literal", email("ann@[127.0.0.1]"), false},
		{"header injection", email("ann@example.org\r\nBcc: x@example.org"), false},
		{"line end after", email("ann@example.org\n"), false},
		{"space before", email(" ann@example.org"), false},
		{"NUL in the address", email("ann\x00@example.org"), false},
		{"no UTF-8", email("ann\xff@example.org"), false},
		{"text direction", email("ann\u202e@example.org"), false},
		{"no-break space", email("ann\u00a0@example.org"), false},
		{"password of 7", password("1234567"), false},
		{"password of 7 in 14 bytes", password("üüüüüüü"), false},
		{"password of 8", password("üüüüüüüü"), true},
		{"password of 128", password(strings.Repeat("x", 128)), true},
		{"password of 129", password(strings.Repeat("x", 129)), false},
		{"password of 128 in 512 bytes", password(strings.Repeat("😀", 128)), true},
		{"password of a megabyte", password(strings.Repeat("x", 1<<20)), false},
		{"no password", password(""), false},
		{"admin", role("admin"), true},
		{"guest", role("guest"), true},
		{"unknown role", role("root"), false},
		{"no role", role(""), false},
		{"other locale", locale("zh-CN"), true},
		{"unknown locale", locale("de-DE"), false},
		{"path", path("/home/ann"), true},
		{"relative path", path("home/ann"), false},
	} {
		err := c.user.Check()
		if c.ok && err != nil || !c.ok && !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: got %v", c.what, err)
		}
		if err != nil && c.user.Password != "" && strings.Contains(err.Error(), c.user.Password.Reveal()) {
			t.Errorf("%s: the message repeats the password", c.what)
		}
	}
}
