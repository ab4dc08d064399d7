package access_test

import (
	"fmt"
	"testing"

	"larder/internal/access"
)

// fiftyRules returns the rules of a large installation, all of them for users, with the deciding
// one last.
func fiftyRules(shape string) []access.Rule {
	rules := []access.Rule{withPriority(rule("last", "role:user", access.Allow, "/home/*/shared/**"), -1)}
	for i := len(rules); i < 50; i++ {
		rules = append(rules, rule(fmt.Sprint("r", i), "role:user", access.Deny, fmt.Sprintf(shape, i)))
	}
	return rules
}

func BenchmarkDecide(b *testing.B) {
	for name, shape := range map[string]string{"trees": "/team-%d/**", "near": "/home/bob/shared/%d/**",
		"wild": "/home/*/private-%d/**/*.raw", "wilder": "/**/secret-%d/*"} {
		b.Run(name, func(b *testing.B) {
			p, target := access.NewPolicy(fiftyRules(shape),
				true), targetAt("/home/bob/shared/holiday 2026/IMG_20260704_101112.jpg")
			b.ReportAllocs()
			for b.Loop() {
				if p.Decide(alice, target, read).Outcome != access.Allowed {
					b.Fatal("refused")
				}
			}
		})
	}
}

func BenchmarkAllowed(b *testing.B) {
	p, target := access.NewPolicy(fiftyRules("/home/*/private-%d/**/*.raw"),
		true), targetAt("/home/bob/shared/holiday 2026/IMG_20260704_101112.jpg")
	b.ReportAllocs()
	for b.Loop() {
		if p.Allowed(alice, target) != access.All {
			b.Fatal("refused")
		}
	}
}

func BenchmarkInside(b *testing.B) {
	p, folder := access.NewPolicy(fiftyRules("/home/*/private-%d/**"), true), targetAt("/home/bob/shared/holiday 2026")
	v := access.Viewer{Policy: p, Actor: alice}
	b.ReportAllocs()
	for b.Loop() {
		if v.ListingFilter(folder).Files != access.ShownAll {
			b.Fatal("not all")
		}
	}
}

func BenchmarkReveals(b *testing.B) {
	p, folder := access.NewPolicy(fiftyRules("/home/*/private-%d/**"), true), targetAt("/home/bob").Path
	b.ReportAllocs()
	for b.Loop() {
		if !p.ShowsFolder(alice, folder, folder, false) {
			b.Fatal("hidden")
		}
	}
}

func BenchmarkCostlyPatterns(b *testing.B) {
	for _, c := range costlyPatterns {
		b.Run(c.name, func(b *testing.B) {
			p, s := pattern(b, c.pattern), path(b, c.path)
			b.ReportAllocs()
			for b.Loop() {
				if p.Match(s) {
					b.Fatal("matched")
				}
			}
		})
	}
}
