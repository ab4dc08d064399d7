package house

import (
	"fmt"
	"unicode/utf8"
)

// maxSubject is how many characters the first line of a commit message may have.
const maxSubject = 72

// Commit is a commit as `git log` tells it.
type Commit struct {
	ID      string
	Subject string // the first line of its message
}

// Subjects finds commits whose subject has more than maxSubject characters.
func Subjects(commits []Commit) []Finding {
	var found []Finding
	for _, commit := range commits {
		if length := utf8.RuneCountInString(commit.Subject); length > maxSubject {
			found = append(found, Finding{File: commit.ID,
				Text: fmt.Sprintf("has a subject of %d characters; %d are the most: %s", length, maxSubject,
					commit.Subject)})
		}
	}
	return found
}
