package config

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

const (
	envPrefix  = "LARDER_"
	testPrefix = "LARDER_TEST_" // read only by tests
	configEnv  = "LARDER_CONFIG"
	configFlag = "config"
)

// Kubernetes and Docker set variables with such names for the containers beside a service called
// "larder".
var (
	serviceLink = regexp.MustCompile(
		`^LARDER_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)
	portLink = regexp.MustCompile(`^LARDER_(\w+_)?PORT$`)
)

// clientVars are the variables of programs that use a service: its address and an API key. No
// command of this program reads them.
var clientVars = map[string]bool{"LARDER_URL": true, "LARDER_KEY": true}

// rawValue is a value as it was written.
type rawValue struct {
	name  string // its name in its place: --listen, LARDER_LISTEN, larder.toml: listen
	value string
	err   error // it cannot be read: a wrong kind of TOML value
}

// describe returns, for a message, the name of the value in its place and, unless the setting s is
// a secret, the value.
func (v rawValue) describe(s setting) string {
	if s.secret || v.err != nil {
		return v.name
	}
	return fmt.Sprintf("%s=%q", v.name, v.value)
}

// gather collects the effective value of each setting, by flag name, from args, environ and the
// file, and the arguments that are not flags. own holds further flags of the command, nil for none.
// The only error is ErrHelp. All problems are added to faults.
func gather(args, environ []string, own *flag.FlagSet, faults *Error) (map[string]rawValue, []string, error) {
	in := map[string]rawValue{}
	words, err := readFlags(args, own, in, faults)
	if err != nil {
		return nil, nil, err
	}
	readEnv(environ, in, faults)
	if file := in[configFlag].value; file != "" {
		readFile(file, in, faults)
	}
	return in, words, nil
}

// recorder stores the value of a flag unparsed. The rules are applied later.
type recorder struct {
	flag string
	bool bool
	in   map[string]rawValue
}

func (r recorder) String() string { return "" }

// IsBoolFlag tells the flag package whether the flag may stand without a value.
func (r recorder) IsBoolFlag() bool { return r.bool }

// Set implements flag.Value: it keeps the value as the one that the command line gives.
func (r recorder) Set(value string) error {
	r.in[r.flag] = rawValue{name: "--" + r.flag, value: value}
	return nil
}

// readFlags parses args with the flag package into in, and returns the arguments that are not
// flags. own holds further flags, nil for none. It starts again after each mistake, so that all are
// added to faults. Error: ErrHelp.
func readFlags(args []string, own *flag.FlagSet, in map[string]rawValue, faults *Error) (words []string, err error) {
	set := flag.NewFlagSet("larder", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.Usage = func() {}
	set.Var(recorder{configFlag, false, in}, configFlag, "")
	for _, s := range settings {
		set.Var(recorder{s.flag, s.rule.form == formBool, in}, s.flag, "")
	}
	if own != nil {
		own.VisitAll(func(f *flag.Flag) { set.Var(f.Value, f.Name, f.Usage) })
	}
	for len(args) > 0 {
		err := set.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			return nil, ErrHelp
		}
		rest := set.Args()
		last := "" // the last argument that Parse consumed
		if n := len(args) - len(rest); n > 0 {
			last = args[n-1]
		}
		switch {
		case err == nil && last == "--":
			return append(words, rest...), nil
		case len(rest) == 0 && err == nil:
			return words, nil
		case err == nil:
			words = append(words, rest[0])
			rest = rest[1:]
		case len(rest) > 0 && malformed(rest[0]):
			name, _, _ := strings.Cut(rest[0], "=") // the value may be a secret
			faults.add("", "%q is not a flag", name)
			rest = rest[1:]
		default:
			faults.add("", "%v", err)
			if len(rest) > 0 && !strings.Contains(last, "=") && !strings.HasPrefix(rest[0], "-") {
				rest = rest[1:] // the value of an unknown flag
			}
		}
		args = rest
	}
	return words, nil
}

// malformed reports whether the flag package refuses arg as a flag without a name, such as `--=x`,
// before it looks for a flag of that name.
func malformed(arg string) bool {
	name, ok := strings.CutPrefix(arg, "-")
	name = strings.TrimPrefix(name, "-")
	return ok && arg != "-" && arg != "--" && (name == "" || name[0] == '-' || name[0] == '=')
}

// readEnv adds the settings in the environment to in, unless a flag has set them. An unknown
// LARDER_… name is a fault, except names that container platforms, tests and client programs use.
func readEnv(environ []string, in map[string]rawValue, faults *Error) {
	byEnv := map[string]string{configEnv: configFlag}
	for _, s := range settings {
		byEnv[s.env()] = s.flag
	}
	for _, line := range environ {
		name, value, ok := strings.Cut(line, "=")
		if !ok || !strings.HasPrefix(name, envPrefix) || strings.HasPrefix(name, testPrefix) || clientVars[name] {
			continue
		}
		known, ok := byEnv[name]
		switch {
		case !ok && (serviceLink.MatchString(name) || portLink.MatchString(name) && strings.Contains(value, "://")):
		case !ok:
			faults.add("", "%s in the environment is not a setting", name)
		case in[known].name == "":
			in[known] = rawValue{name: name, value: value}
		}
	}
}

// readFile adds the settings in the TOML file at path to in, unless flag or environment has set
// them. Unknown keys are faults.
func readFile(path string, in map[string]rawValue, faults *Error) {
	content, err := os.ReadFile(path)
	if err != nil {
		faults.add(configFlag, "%s: %v", in[configFlag].name, err)
		return
	}
	var keys map[string]any
	if _, err := toml.Decode(string(content), &keys); err != nil {
		faults.add(configFlag, "%s: %s", path, describeTOMLError(string(content), err))
		return
	}
	for _, s := range settings {
		value, ok := keys[s.key()]
		delete(keys, s.key())
		if !ok || in[s.flag].name != "" {
			continue
		}
		g := rawValue{name: path + ": " + s.key()}
		g.value, g.err = fromTOML(value, s.rule.form)
		in[s.flag] = g
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		faults.add("", "%s: %s is not a setting", path, key)
	}
}

// describeTOMLError returns the line at which a file with that content is no TOML, for a message.
// It says what is wrong only if the line cannot belong to a secret.
func describeTOMLError(content string, err error) string {
	var parse toml.ParseError
	if !errors.As(err, &parse) {
		return "is not TOML"
	}
	where := fmt.Sprintf("line %d is not TOML (text needs quotes)", parse.Position.Line)
	lines := strings.Split(content, "\n")
	if i := parse.Position.Line - 1; i < 0 || i >= len(lines) || slices.ContainsFunc(settings, func(s setting) bool {
		return s.secret && (strings.Contains(lines[i], s.key()) || strings.Contains(parse.LastKey, s.key()))
	}) {
		return where
	}
	return where + ": " + cmp.Or(parse.Message, "unreadable")
}

// fromTOML converts a TOML value to the text that it has in the environment. Error: the value is of
// another kind than the setting's form f.
func fromTOML(value any, f form) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case bool:
		if f == formBool {
			return fmt.Sprint(v), nil
		}
	case int64:
		if f == formInteger || f == formSize {
			return fmt.Sprint(v), nil
		}
	case []any:
		if f == formList {
			return joinTOML(v)
		}
	}
	return "", errors.New(map[form]string{
		formText:     "must be text in quotes",
		formList:     "must be a list of texts, such as [\"10.0.0.0/8\"]",
		formBool:     "must be true or false",
		formInteger:  "must be a whole number",
		formSize:     "must be a whole number of bytes or text such as \"256MiB\"",
		formDuration: "must be text such as \"1h30m\" or \"90d\"",
	}[f])
}

// joinTOML converts a TOML list of texts to one text with commas. Error: an item is no text.
func joinTOML(list []any) (string, error) {
	texts := make([]string, 0, len(list))
	for _, item := range list {
		text, ok := item.(string)
		if !ok {
			return "", errors.New("must hold texts only, such as [\"10.0.0.0/8\"]")
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ","), nil
}
