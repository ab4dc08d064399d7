package blob

import "bytes"

// memoryObject is an open object in memory.
type memoryObject struct {
	bytes.Reader
	content []byte
}

// NewInMemory returns an open object that reads content from its beginning. Nothing may change
// content afterwards.
func NewInMemory(content []byte) InMemory {
	o := &memoryObject{content: content}
	o.Reset(content)
	return o
}

// Close implements Object.
func (*memoryObject) Close() error { return nil }

// Rest implements InMemory.
func (o *memoryObject) Rest() []byte { return o.content[len(o.content)-o.Len():] }
