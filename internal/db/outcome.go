package db

import (
	"errors"
	"fmt"
)

// lastPrefix begins the names of outcomes in the table versions, where those of a backup's holds begin with "backup ".
const lastPrefix = "last "

// Outcome is how a command that an operator runs now and then has ended last.
type Outcome struct {
	EndedAt  int64 // ms
	Problems int64 // that it told of
}

// SetOutcome records how the command of that name has ended.
func (t *Tx) SetOutcome(command string, o Outcome) error {
	for name, value := range map[string]int64{lastPrefix + command + " ended": o.EndedAt, lastPrefix + command + " problems": o.Problems} {
		_, err := t.Exec("INSERT INTO versions (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value", name, value)
		if err != nil {
			return fmt.Errorf("record how %s ended: %w", command, err)
		}
	}
	return nil
}

// LastOutcome returns what SetOutcome has recorded last of a command. Error: ErrNoRows when it has recorded nothing.
func LastOutcome(q Querier, command string) (o Outcome, err error) {
	err = q.QueryRow("SELECT e.value, p.value FROM versions e JOIN versions p ON p.name = $2 WHERE e.name = $1", lastPrefix+command+" ended", lastPrefix+command+" problems").
		Scan(&o.EndedAt, &o.Problems)
	if err != nil && !errors.Is(err, ErrNoRows) {
		err = fmt.Errorf("read how %s ended: %w", command, err)
	}
	return o, err
}
