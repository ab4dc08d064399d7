package vpath

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxSortKeyBytes bounds a sort key: it ends with the character that reaches this length. No name
// in ASCII gets there. The bound keeps the row of an index that holds a name three times (key,
// name, folded name) below the 2,704 bytes that PostgreSQL allows.
const MaxSortKeyBytes = 400

// SortKey returns the key by which the names in a folder are ordered, before the names themselves.
// Keys are compared byte by byte. The key is the name in NFC with its case folded, and each run of
// decimal digits, of any script, is replaced by its number of digits and the digits in ASCII, both
// without leading zeros. So `Lake 2` and `lake 02` have the same key, which comes before that of
// `lake 10`.
//
// The key of a name that SortKey has to cut is that of its beginning; such names are ordered by
// themselves where their beginnings are equal. The database stores keys: a change of this function
// or of its Unicode tables needs a step that computes them anew (internal/db/steps.go).
func SortKey(name string) string {
	rest := Fold(name)
	var key strings.Builder
	for rest != "" {
		digits, length := leadingDigits(rest)
		if length == 0 {
			_, length = utf8.DecodeRuneInString(rest)
			key.WriteString(rest[:length])
		} else {
			writeNumber(&key, digits)
		}
		rest = rest[length:]
	}
	return cutKey(key.String())
}

// leadingDigits returns the decimal digits at the start of s, of any script, in ASCII and without
// leading zeros, and their length in s in bytes: 0 when s does not begin with a digit.
func leadingDigits(s string) (digits string, length int) {
	var b strings.Builder
	for _, r := range s {
		value, ok := digitValue(r)
		if !ok {
			break
		}
		length += utf8.RuneLen(r)
		if value > 0 || b.Len() > 0 {
			b.WriteByte('0' + value)
		}
	}
	return b.String(), length
}

// digitValue returns the value, 0 to 9, of a decimal digit of any script; ok is false for any other
// character. Unicode has them in rows of ten from 0 to 9.
func digitValue(r rune) (value byte, ok bool) {
	if '0' <= r && r <= '9' {
		return byte(r - '0'), true
	}
	if r < utf8.RuneSelf || !unicode.Is(unicode.Nd, r) {
		return 0, false
	}
	for _, row := range unicode.Nd.R16 {
		if rune(row.Lo) <= r && r <= rune(row.Hi) {
			return byte((r - rune(row.Lo)) % 10), true
		}
	}
	for _, row := range unicode.Nd.R32 {
		if rune(row.Lo) <= r && r <= rune(row.Hi) {
			return byte((r - rune(row.Lo)) % 10), true
		}
	}
	return 0, false
}

// writeNumber appends the form of a number in a sort key; digits have no leading zero. It writes a
// 9 for each nine of its digits, the count of the others, and the digits. A number with more digits
// has the greater count, and the whole consists of digits, so that it is placed among other
// characters like a digit.
func writeNumber(key *strings.Builder, digits string) {
	for range len(digits) / 9 {
		key.WriteByte('9')
	}
	key.WriteByte('0' + byte(len(digits)%9))
	key.WriteString(digits)
}

// cutKey cuts a sort key after the character that reaches MaxSortKeyBytes. Cutting before it would
// reorder two keys whose characters there have different lengths.
func cutKey(key string) string {
	end := MaxSortKeyBytes
	for end < len(key) && !utf8.RuneStart(key[end]) {
		end++
	}
	return key[:min(end, len(key))]
}
