package files

import (
	"strconv"
	"strings"

	"larder/internal/fault"
)

// timeCursor returns the cursor of a list in the order of times (ms) and ids, newest first, for the
// page after an entry.
func timeCursor(ms int64, id string) string { return strconv.FormatInt(ms, 10) + "." + id }

// parseTimeCursor parses a cursor of timeCursor. It returns the time (ms) and the id of the last
// entry of the page before; 0 and "" for the cursor "", which is the beginning of the list. Fault:
// Invalid.
func parseTimeCursor(cursor string) (ms int64, id string, err error) {
	if cursor == "" {
		return 0, "", nil
	}
	at, id, found := strings.Cut(cursor, ".")
	ms, err = strconv.ParseInt(at, 10, 64)
	if !found || id == "" || err != nil {
		return 0, "", fault.InvalidField("cursor", "This is not a cursor of this list.")
	}
	return ms, id, nil
}
