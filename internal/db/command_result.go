package db

import (
	"errors"
	"fmt"
)

// resultPrefix begins the names of outcomes in the table versions, where those of a backup's holds
// begin with "backup ".
const resultPrefix = "last "

// CommandResult is how a command that an operator runs now and then has ended last.
type CommandResult struct {
	EndedAt  int64 // ms
	Problems int64 // that it told of
}

// SetCommandResult records how the command of that name has ended.
func (t *Tx) SetCommandResult(command string, o CommandResult) error {
	for name, value := range map[string]int64{resultPrefix + command + " ended": o.EndedAt,
		resultPrefix + command + " problems": o.Problems} {
		_, err := t.Exec(
			"INSERT INTO versions (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value", name, value)
		if err != nil {
			return fmt.Errorf("record how %s ended: %w", command, err)
		}
	}
	return nil
}

// LastCommandResult returns what SetCommandResult has recorded last of a command. Error: ErrNoRows
// when it has recorded nothing.
func LastCommandResult(q Querier, command string) (o CommandResult, err error) {
	err = q.QueryRow("SELECT e.value, p.value FROM versions e JOIN versions p ON p.name = $2 WHERE e.name = $1",
		resultPrefix+command+" ended", resultPrefix+command+" problems").
		Scan(&o.EndedAt, &o.Problems)
	if err != nil && !errors.Is(err, ErrNoRows) {
		err = fmt.Errorf("read how %s ended: %w", command, err)
	}
	return o, err
}
