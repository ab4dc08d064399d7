package apikey

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"larder/internal/fault"
	"larder/internal/vpath"
)

// placeholderPattern finds placeholders, known or not. Unpaired braces are ordinary characters.
var placeholderPattern = regexp.MustCompile(`\{[^{}/]*\}`)

// placeholders lists all placeholders.
var placeholders = []string{
	"{year}", "{month}", "{day}", "{hour}", "{minute}", "{second}", "{timestamp}", "{uuid}", "{random}", "{username}",
	"{filename}", "{ext}",
}

// TemplateValues holds the values of the placeholders for one upload.
type TemplateValues struct {
	Now                    time.Time
	UUID, Random, Username string
	// as it will be stored; {filename} is the part before its last dot, {ext} the part after
	FileName string
}

// UploadRoot returns the folder that a key with an upload path may not leave: the part before the
// first segment with a placeholder. Fault: Forbidden for a path that is no upload path.
func UploadRoot(uploadPath string) (vpath.Path, error) {
	clean, err := cleanUploadPath(uploadPath)
	if err != nil {
		return vpath.Root, err
	}
	return templateRoot(clean)
}

// templateRoot returns the upload root of an upload path that cleanUploadPath has normalised: the
// part before the first segment with a placeholder.
func templateRoot(clean string) (vpath.Path, error) {
	segments := strings.Split(clean, "/")
	if i := slices.IndexFunc(segments, placeholderPattern.MatchString); i >= 0 {
		segments = segments[:i]
	}
	return vpath.FromSegments(segments)
}

// UploadFolder returns the folder that a compatible upload with the key is stored in: that of the
// key's upload path, or, unless requestPath is "", that of requestPath, which is relative to the
// upload root or, with a leading slash, an absolute path inside it. Both may contain placeholders,
// whose values are in v. The value of a placeholder stays within its segment: a file named `..` or
// `{year}` creates no other folder (abuse cases C15, C16). Faults: Forbidden for a path that leaves
// the root or contains a `..` segment; Invalid for a malformed path and for an unknown placeholder.
func (k Key) UploadFolder(requestPath string, v TemplateValues) (vpath.Path, error) {
	template, err := cleanUploadPath(k.UploadPath)
	if err != nil {
		return vpath.Root, err
	}
	root, err := templateRoot(template)
	if err != nil {
		return vpath.Root, err
	}
	if requestPath != "" {
		if template = requestPath; !strings.HasPrefix(template, "/") {
			template = root.String() + "/" + template
		}
		if name, found := unknownPlaceholder(requestPath); found {
			return vpath.Root, fault.Newf(fault.Invalid, "There is no placeholder %s.", name)
		}
	}
	segments := strings.Split(template, "/")
	for i, segment := range segments {
		if strings.TrimSpace(segment) == ".." {
			return vpath.Root, outsideRootFault()
		}
		if placeholderPattern.MatchString(segment) {
			segments[i] = v.expand(segment)
		}
	}
	target, err := vpath.FromSegments(segments)
	if err != nil {
		return vpath.Root, err
	}
	if !target.Within(root) {
		return vpath.Root, outsideRootFault()
	}
	return target, nil
}

// outsideRootFault returns the fault Forbidden for a path outside the upload root, the folder that
// a key may not leave.
func outsideRootFault() error {
	return fault.New(fault.Forbidden, "The path is outside the upload root of this API key.")
}

// unknownPlaceholder returns the first text in braces in s that is no placeholder, and whether
// there is one.
func unknownPlaceholder(s string) (string, bool) {
	for _, found := range placeholderPattern.FindAllString(s, -1) {
		if !slices.Contains(placeholders, found) {
			return found, true
		}
	}
	return "", false
}

// expand replaces the placeholders of one segment in one pass, so that braces in a value have no
// meaning. The result is always one valid name: characters that a name cannot have become `_`,
// blanks at the ends and characters beyond 255 are dropped, and a result that is no name becomes
// `_`.
func (v TemplateValues) expand(segment string) string {
	s := placeholderPattern.ReplaceAllStringFunc(segment, func(placeholder string) string {
		return strings.Map(nameRune, v.value(placeholder))
	})
	runes := []rune(strings.TrimSpace(norm.NFC.String(s)))
	s = strings.TrimSpace(string(runes[:min(len(runes), vpath.MaxNameRunes)]))
	if s == "" || s == "." || s == ".." {
		return "_"
	}
	return s
}

// nameRune returns r, or `_` for a character that the name of an entry cannot have.
func nameRune(r rune) rune {
	if r == unicode.ReplacementChar {
		return '_'
	}
	if _, err := vpath.ParseName("x" + string(r) + "x"); err != nil {
		return '_'
	}
	return r
}

// value returns the text that a placeholder, such as "{year}", stands for. Times are in UTC.
func (v TemplateValues) value(placeholder string) string {
	now := v.Now.UTC()
	switch placeholder {
	case "{year}":
		return now.Format("2006")
	case "{month}":
		return now.Format("01")
	case "{day}":
		return now.Format("02")
	case "{hour}":
		return now.Format("15")
	case "{minute}":
		return now.Format("04")
	case "{second}":
		return now.Format("05")
	case "{timestamp}":
		return strconv.FormatInt(now.UnixMilli(), 10)
	case "{uuid}":
		return v.UUID
	case "{random}":
		return v.Random
	case "{username}":
		return v.Username
	}
	stem, ext := v.FileName, ""
	if i := strings.LastIndexByte(stem, '.'); i > 0 {
		stem, ext = stem[:i], stem[i+1:]
	}
	if placeholder == "{ext}" {
		return ext
	}
	return stem // {filename}
}
