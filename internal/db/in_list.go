package db

import (
	"strconv"
	"strings"
)

// InList returns the condition `IN ($first, …)` for at least one value, and the values as the
// arguments of these parameters.
func InList[T any](first int, values []T) (condition string, args []any) {
	marks := make([]string, len(values))
	for i, value := range values {
		marks[i] = "$" + strconv.Itoa(first+i)
		args = append(args, value)
	}
	return "IN (" + strings.Join(marks, ", ") + ")", args
}
