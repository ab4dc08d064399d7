package db_test

import (
	"reflect"
	"testing"

	"larder/internal/db"
)

func TestInList(t *testing.T) {
	t.Parallel()
	condition, args := db.InList(3, []string{"a", "b"})
	if condition != "IN ($3, $4)" || !reflect.DeepEqual(args, []any{"a", "b"}) {
		t.Errorf("InList = %q, %v", condition, args)
	}
}
