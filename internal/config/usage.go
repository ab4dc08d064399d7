package config

import (
	"fmt"
	"io"
	"strings"
)

//go:generate go test -run ^TestDocument$ -update

// Usage writes all settings to w in the form of `larder serve --help`: flag, environment variable,
// default, meaning.
func Usage(w io.Writer) error {
	var b strings.Builder
	b.WriteString(
		`Every setting is a flag, an environment variable and a key of an optional TOML file, in this order of precedence.
The file's keys are the flags with _ instead of -. Sizes are bytes or end in KiB, MiB or GiB; durations look like 30s, 1h30m or 90d;
lists are separated by commas.

  --config FILE
        the TOML file
        LARDER_CONFIG, default: none
`)
	for _, s := range settings {
		if s.group != "" {
			fmt.Fprintf(&b, "\n%s\n", s.group)
		}
		fmt.Fprintf(&b, "  %s\n        %s\n        %s, default: %s\n", s.synopsis(), stripMarkdown(s.meaning), s.env(),
			stripMarkdown(s.describeDefault()))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("print the settings: %w", err)
	}
	return nil
}

// synopsis returns the flag with a word for its value, such as `--min-free SIZE`; a boolean flag
// has none.
func (s setting) synopsis() string {
	word := map[form]string{formText: "TEXT", formList: "LIST", formInteger: "NUMBER", formSize: "SIZE",
		formDuration: "DURATION"}[s.rule.form]
	if word == "" {
		return "--" + s.flag
	}
	return "--" + s.flag + " " + word
}

// describeDefault returns the default in Markdown, for help and document.
func (s setting) describeDefault() string {
	if s.def == "" {
		return s.defaultText
	}
	return "`" + s.def + "`"
}

// stripMarkdown removes the backquotes from a text of the table.
func stripMarkdown(s string) string { return strings.ReplaceAll(s, "`", "") }
