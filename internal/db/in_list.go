package db

import (
	"strconv"
	"strings"
)

// InList returns the SQL condition `IN ($first, …)`, with one parameter for each of at least one
// value, and the values as its arguments. first is the number of the first parameter.
func InList[T any](first int, values []T) (condition string, args []any) {
	marks := make([]string, len(values))
	for i, value := range values {
		marks[i] = "$" + strconv.Itoa(first+i)
		args = append(args, value)
	}
	return "IN (" + strings.Join(marks, ", ") + ")", args
}
