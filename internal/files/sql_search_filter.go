package files

import (
	"fmt"
	"slices"
	"strings"

	"larder/internal/db"
)

// typeConditions are the conditions for the MIME types of a group, of entries as e.
var typeConditions = map[TypeGroup]string{
	ImageTypes:    "substr(e.mime_type, 1, 6) = 'image/'",
	VideoTypes:    "substr(e.mime_type, 1, 6) = 'video/'",
	mediaTypes:    "substr(e.mime_type, 1, 6) IN ('image/', 'video/')",
	AudioTypes:    "substr(e.mime_type, 1, 6) = 'audio/'",
	DocumentTypes: "(" + isPrefixed(documentPrefixes) + " OR " + isOneOf(documentTypes) + ")",
	ArchiveTypes:  isOneOf(archiveTypes),
}

// isPrefixed returns the condition that the MIME type begins with one of the prefixes.
func isPrefixed(prefixes []string) string {
	conditions := make([]string, len(prefixes))
	for i, prefix := range prefixes {
		conditions[i] = fmt.Sprintf("substr(e.mime_type, 1, %d) = '%s'", len(prefix), prefix)
	}
	return strings.Join(conditions, " OR ")
}

// isOneOf returns the condition that the MIME type is one of these.
func isOneOf(types []string) string { return "e.mime_type IN ('" + strings.Join(types, "', '") + "')" }

// idsOf returns which of some entries the filter selects.
func (f *SearchFilter) idsOf(q db.Querier, ids []string) (selected map[string]bool, err error) {
	selected = map[string]bool{}
	for some := range slices.Chunk(ids, 64) {
		var s statement
		s.WriteString("SELECT e.id FROM entries e WHERE e.id IN (")
		writeInList(&s, some)
		f.write(&s)
		found, err := scanStrings(q.Query(s.String(), s.args...))
		if err != nil {
			return nil, fmt.Errorf("filter what a search finds: %w", err)
		}
		for _, id := range found {
			selected[id] = true
		}
	}
	return selected, nil
}

// write appends the conditions of the filter to a statement, with entries as e. It appends nothing
// for an empty filter.
func (f *SearchFilter) write(s *statement) {
	if f.empty() {
		return
	}
	s.WriteString(" AND e.kind = 1")
	if f.Types != "" {
		s.WriteString(" AND " + typeConditions[f.Types])
	}
	for _, bound := range []struct {
		condition string
		value     *int64
	}{
		{"COALESCE(e.taken_at, e.updated_at) >= ", f.From}, {"COALESCE(e.taken_at, e.updated_at) < ", f.To},
		{"e.size >= ", f.MinSize}, {"e.size <= ", f.MaxSize},
	} {
		if bound.value != nil {
			s.WriteString(" AND " + bound.condition + s.arg(*bound.value))
		}
	}
	if f.OwnerID != "" {
		s.WriteString(" AND e.owner_id = " + s.arg(f.OwnerID))
	}
}
