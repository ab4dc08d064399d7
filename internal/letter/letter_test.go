package letter_test

import (
	"context"
	"errors"
	"html"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/emersion/go-smtp"

	"larder/internal/apptest"
	"larder/internal/fault"
	"larder/internal/letter"
	"larder/internal/site"
)

const token = "Token0123456789abcdefABCDEF"

// sendByName holds each letter, with the texts that it must contain in each language.
var sendByName = map[string]struct {
	send    func(s *letter.Service, to letter.Recipient) error
	link    string // the expected address, "" for none
	code    string
	english []string
	chinese []string
}{
	"verification": {
		send: func(s *letter.Service, to letter.Recipient) error {
			return s.Verification(context.Background(), to, token)
		},
		link:    "http://larder.test/api/auth/verify-email?token=" + token,
		english: []string{"Hello ann,", "24 hours", "ignore", "verify", "account ann"},
		chinese: []string{"ann，您好", "24 小时", "忽略", "验证", "账号 ann"},
	},
	"reset": {
		send:    func(s *letter.Service, to letter.Recipient) error { return s.Reset(context.Background(), to, token) },
		link:    "http://larder.test/app/reset?token=" + token,
		english: []string{"Hello ann,", "15 minutes", "once", "ignore", "new password", "account ann"},
		chinese: []string{"ann，您好", "15 分钟", "一次", "忽略", "新密码", "账号 ann"},
	},
	"code": {
		send: func(s *letter.Service, to letter.Recipient) error {
			return s.Code(context.Background(), to, "048151")
		},
		code:    "048151",
		english: []string{"Hello ann,", "5 minutes", "ignore", "048151", "account ann"},
		chinese: []string{"ann，您好", "5 分钟", "忽略", "048151", "账号 ann"},
	},
	"test": {
		send:    func(s *letter.Service, to letter.Recipient) error { return s.Test(context.Background(), to) },
		english: []string{"administrator ann", "test message", "ignore"},
		chinese: []string{"管理员 ann", "测试邮件", "忽略"},
	},
}

var (
	tags   = regexp.MustCompile(`(?s)<style>.*?</style>|<[^>]*>`)
	spaces = regexp.MustCompile(`\s+`)
	remote = regexp.MustCompile(
		`(?i)<(img|link|script|iframe|object|form|svg|video|audio|base|meta http)|url\(|@import|\bsrc=|\bon\w+=|javascript:|data:`)
	hrefs = regexp.MustCompile(`href="([^"]*)"`)
)

// visibleText returns the visible text of the HTML form, in one line.
func visibleText(markup string) string {
	_, body, _ := strings.Cut(markup, "<body")
	return strings.TrimSpace(spaces.ReplaceAllString(html.UnescapeString(tags.ReplaceAllString("<body"+body, " ")),
		" "))
}

func TestLetters(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		box := l.Mailbox(t)
		l.ChangeSettings(t, func(s *site.Settings) { s.SiteTitle = "Our Photos" })
		for name, row := range sendByName {
			for locale, words := range map[string][]string{"en-US": row.english, "zh-CN": row.chinese, "": row.english,
				"fr-FR": row.english} {
				a := l.Apps[len(name)%len(l.Apps)]
				if err := row.send(a.Letters,
					letter.Recipient{Email: "ann@example.org", Name: "ann", Locale: locale}); err != nil {
					t.Fatalf("%s %s: %v", name, locale, err)
				}
				got := box.Next("ann@example.org")
				inHTML, inText := visibleText(got.HTML), strings.TrimSpace(spaces.ReplaceAllString(got.Text, " "))
				for _, word := range append(words, row.link, row.code, "Our Photos", "http://larder.test") {
					if !strings.Contains(inText, word) && !strings.Contains(got.Subject, word) ||
						!strings.Contains(inHTML, word) && !strings.Contains(got.Subject, word) {
						t.Errorf("%s %s lacks %q:\n%s\n%s\n%s", name, locale, word, got.Subject, inText, inHTML)
					}
				}
				if !strings.Contains(got.Subject, "Our Photos") || strings.Contains(got.Subject, "048151") {
					t.Errorf("%s %s: subject %q", name, locale, got.Subject)
				}
				checkSame(t, name+" "+locale, inText, inHTML)
				checkLinks(t, name+" "+locale, got, row.link)
				if lang := map[string]string{"zh-CN": "zh-CN"}[locale]; !strings.Contains(got.HTML,
					`<html lang="`+max(lang, "en-US")+`">`) {
					t.Errorf("%s %s: the language of the HTML form: %s", name, locale, got.HTML[:60])
				}
				if got.Header.Get("Auto-Submitted") != "auto-generated" {
					t.Errorf("%s %s: %v", name, locale, got.Header)
				}
			}
		}
	})
}

// checkSame checks that both forms have the same content. Only the label of the link is in the HTML
// form alone.
func checkSame(t *testing.T, name, inText, inHTML string) {
	t.Helper()
	inText = strings.Replace(inText, "-- ", "", 1)
	for _, button := range []string{"Verify the address", "Set a new password", "验证邮箱地址", "设置新密码"} {
		inHTML = strings.Replace(inHTML, button+" http", "http", 1)
	}
	if inText != inHTML {
		t.Errorf("%s: the forms differ:\n%s\n%s", name, inText, inHTML)
	}
}

// checkLinks checks that a letter leads to its link and nowhere else, and loads nothing.
func checkLinks(t *testing.T, name string, got apptest.Mail, link string) {
	t.Helper()
	if found := remote.FindString(got.HTML); found != "" {
		t.Errorf("%s: %q in the HTML form", name, found)
	}
	all := hrefs.FindAllStringSubmatch(got.HTML, -1)
	if link == "" && len(all) != 0 || link != "" && len(all) != 2 {
		t.Errorf("%s: links %v", name, all)
	}
	for _, one := range all {
		if html.UnescapeString(one[1]) != link {
			t.Errorf("%s: leads to %q, want %q", name, one[1], link)
		}
	}
	if link != "" && !strings.Contains(got.Text, "\r\n"+link+"\r\n") {
		t.Errorf("%s: the link is not on a separate line:\n%s", name, got.Text)
	}
}

// Names are treated as text, whatever they contain. Abuse case C73.
func TestNamesAreText(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		box := l.Mailbox(t)
		const markup = `</title><script>alert(1)</script> & "q" 'a' <b>`
		l.ChangeSettings(t, func(s *site.Settings) { s.SiteTitle, s.SMTPFromName = markup, "" })
		for name, row := range sendByName {
			for _, locale := range []string{"en-US", "zh-CN"} {
				if err := row.send(l.Apps[0].Letters,
					letter.Recipient{Email: "ann@example.org", Name: "{{.Base}}<i>ann\r\nBcc: eve@example.org",
						Locale: locale}); err != nil {
					t.Fatal(err)
				}
				got := box.Next("ann@example.org")
				if strings.Contains(got.HTML, "<script") || strings.Contains(got.HTML, "<b>") ||
					strings.Contains(got.HTML, "<i>") || !strings.Contains(got.HTML, "&lt;script&gt;") {
					t.Errorf("%s: %s", name, got.HTML)
				}
				if inHTML := visibleText(got.HTML); !strings.Contains(inHTML, markup) ||
					!strings.Contains(inHTML, "{{.Base}}<i>ann Bcc: eve@example.org") {
					t.Errorf("%s: %s", name, inHTML)
				}
				if !strings.Contains(got.Text, markup) || !strings.Contains(got.Subject, markup) ||
					got.Header.Get("Bcc") != "" {
					t.Errorf("%s: %q %s", name, got.Subject, got.Text)
				}
				if from, err := got.Header.AddressList("From"); err != nil || from[0].Name != markup ||
					from[0].Address != "larder@example.org" {
					t.Errorf("%s: from %v, %v", name, from, err)
				}
			}
		}
	})
}

func TestTitles(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	box := l.Mailbox(t)
	long := strings.Repeat("照片储藏室", 40)
	for title, want := range map[string]string{"": "Larder", long: long, "x": "x"} {
		l.ChangeSettings(t, func(s *site.Settings) { s.SiteTitle, s.SMTPFromName = title, "" })
		if err := sendByName["reset"].send(l.Apps[0].Letters,
			letter.Recipient{Email: "ann@example.org", Name: "ann", Locale: "zh-CN"}); err != nil {
			t.Fatal(err)
		}
		got := box.Next("ann@example.org")
		if got.Subject != want+"：设置新密码" || !strings.Contains(got.Text, want) || !utf8.ValidString(got.Text) {
			t.Errorf("%q: %q", title, got.Subject)
		}
		for line := range strings.SplitSeq(got.Raw, "\r\n") {
			if len(line) > 998 {
				t.Errorf("a line of %d bytes", len(line))
			}
		}
	}
}

// The messages for users and for administrators, and which failures are tried again.
func TestFailures(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		s, to := l.Apps[0].Letters, letter.Recipient{Email: "ann@example.org", Name: "ann"}
		for name, row := range sendByName { // nothing is configured
			err := row.send(s, to)
			want := fault.MailFailed
			if name == "test" {
				want = fault.Invalid
			}
			if !fault.Is(err, want) || !fault.Is(letter.JobError(err), want) {
				t.Errorf("%s, not set up: %v", name, err)
			}
		}
		box := l.Mailbox(t)
		for _, c := range []struct {
			code  int
			again bool
		}{{550, false}, {451, true}} {
			refusing := apptest.NewMailbox(t, apptest.NoTLS, "", "", func(b *apptest.Mailbox, _ *smtp.Server) {
				b.Refuse = func(string) error {
					return &smtp.SMTPError{Code: c.code, EnhancedCode: smtp.EnhancedCode{c.code / 100, 1, 1},
						Message: "the words of the server"}
				}
			})
			l.ChangeSettings(t, func(s *site.Settings) { s.SMTPPort = refusing.Port })
			for name, row := range sendByName {
				err := row.send(s, to)
				var told *fault.Error
				if !errors.As(err, &told) || told.Kind != fault.MailFailed {
					t.Fatalf("%s: %v", name, err)
				}
				if strings.Contains(told.Message, "the words of the server") != (name == "test") ||
					!strings.Contains(err.Error(), "the words of the server") {
					t.Errorf("%s: message %q, logged %q", name, told.Message, err)
				}
				if name == "test" {
					continue
				}
				if again := !fault.Is(letter.JobError(err), fault.MailFailed); again != c.again ||
					!strings.Contains(letter.JobError(err).Error(), "the words of the server") {
					t.Errorf("%s, %d: error of the job %v", name, c.code, letter.JobError(err))
				}
			}
		}
		l.ChangeSettings(t, func(s *site.Settings) { s.SMTPPort, s.EmailEnabled = box.Port, false })
		for name, row := range sendByName { // switched off: only the test message is sent
			err := row.send(s, to)
			if name == "test" && err != nil || name != "test" && !fault.Is(letter.JobError(err), fault.MailFailed) {
				t.Errorf("%s, switched off: %v", name, err)
			}
		}
		for _, missing := range []func(*site.Settings){func(s *site.Settings) { s.SMTPHost = "" },
			func(s *site.Settings) { s.SMTPFromEmail = "" }} {
			l.ChangeSettings(t, func(s *site.Settings) {
				s.EmailEnabled, s.SMTPHost, s.SMTPFromEmail = true, box.Host, "larder@example.org"
				missing(s)
			})
			if err := s.Test(t.Context(), to); !fault.Is(err, fault.Invalid) {
				t.Errorf("test without: %v", err)
			}
			if err := s.Code(t.Context(), to, "048151"); !fault.Is(letter.JobError(err), fault.MailFailed) {
				t.Errorf("code without: %v", err)
			}
		}
		if letter.JobError(nil) != nil || letter.JobError(context.Canceled) != context.Canceled {
			t.Error("other errors are changed")
		}
	})
}
