package db

import (
	"errors"
	"fmt"
)

// resultPrefix begins the names of command results in the table versions. The names of backup holds
// there begin with "backup ".
const resultPrefix = "last "

// CommandResult is the result of the last run of a command of an operator.
type CommandResult struct {
	EndedAt  int64 // ms
	Problems int64 // number of problems that it reported
}

// SetCommandResult stores the result of a command of an operator, such as fsck, in place of its
// last one.
func (t *Tx) SetCommandResult(command string, o CommandResult) error {
	for name, value := range map[string]int64{resultPrefix + command + " ended": o.EndedAt,
		resultPrefix + command + " problems": o.Problems} {
		_, err := t.Exec(
			"INSERT INTO versions (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = "+
				"excluded.value", name, value)
		if err != nil {
			return fmt.Errorf("record how %s ended: %w", command, err)
		}
	}
	return nil
}

// LastCommandResult returns the last result that SetCommandResult stored for a command. Error:
// ErrNoRows if it never ended.
func LastCommandResult(q Querier, command string) (o CommandResult, err error) {
	err = q.QueryRow("SELECT e.value, p.value FROM versions e JOIN versions p ON p.name = $2 WHERE e.name = $1",
		resultPrefix+command+" ended", resultPrefix+command+" problems").
		Scan(&o.EndedAt, &o.Problems)
	if err != nil && !errors.Is(err, ErrNoRows) {
		err = fmt.Errorf("read how %s ended: %w", command, err)
	}
	return o, err
}
