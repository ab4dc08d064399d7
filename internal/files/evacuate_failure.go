package files

import (
	"fmt"
	"regexp"

	"larder/internal/fault"
	"larder/internal/provider"
)

// The sentences of an evacuation that ends because of an object, with its key.
const (
	copyDiffers   = "The copy of the object %s differs from what is recorded."
	objectMissing = "The object %s is not in its storage."
)

// MoveFailure says why an evacuation has failed.
type MoveFailure struct {
	Reason string // copy_differs, object_missing, full, unavailable or other; "" for none
	Key    string // of the object that differs or is missing
}

var moveFailures = []struct {
	reason   string
	sentence *regexp.Regexp
}{
	{"copy_differs", sentencePattern(copyDiffers)},
	{"object_missing", sentencePattern(objectMissing)},
}

func sentencePattern(sentence string) *regexp.Regexp {
	return regexp.MustCompile("^" + fmt.Sprintf(regexp.QuoteMeta(sentence), `(\S+)`))
}

// MoveFailureOf returns the reason of a failed evacuation by the error message of its job.
func MoveFailureOf(message string) MoveFailure {
	for _, one := range moveFailures {
		if found := one.sentence.FindStringSubmatch(message); found != nil {
			return MoveFailure{one.reason, found[1]}
		}
	}
	switch message {
	case provider.FullMessage:
		return MoveFailure{Reason: "full"}
	case provider.UnavailableMessage:
		return MoveFailure{Reason: "unavailable"}
	}
	return MoveFailure{Reason: "other"}
}

// evacuationFault ends an evacuation because of an object. sentence has a verb for its key.
func evacuationFault(sentence string, c sourceFile, cause error) error {
	return fault.Newf(fault.Unverified, sentence+" It stays where it is. Heal it with larder scrub --now --from "+
		"BACKUP, or replace or delete its file, and start the evacuation again.", c.Key).
		WithCause(fmt.Errorf("evacuate object %s of provider %s: %w", c.Key, c.Provider, cause))
}
