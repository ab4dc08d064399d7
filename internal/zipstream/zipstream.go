// Package zipstream writes a zip archive to a stream, in memory that does not grow with the number
// of entries: archive/zip remembers every one of them until the end.
//
// Contents are stored as they are, since pictures, video and archives are compressed already.
// Their sizes and checksums follow them (data descriptors), and the directory at the end, without
// which no program takes the archive for a whole one, is written by Finish alone. Names are
// UTF-8; what is too large or too much for the old fields is in the Zip64 ones. Format:
// APPNOTE.TXT 6.3.10 of PKWARE.
package zipstream

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"time"
)

// segmentSize is how many entries one zip.Writer gets. Then it is ended, and of what it writes the
// directory is set aside.
const segmentSize = 512

// Writer writes one archive. Not for concurrent use.
type Writer struct {
	out            segmentOutput
	segment        *zip.Writer // of the present stretch, nil before its first entry
	segmentEntries int         // in it
	total          uint64      // entries in all
	directory      directorySpool
}

// New returns a Writer to out. Directories of more than a mebibyte wait in the file that open
// returns; Close closes it.
func New(out io.Writer, open func() (*os.File, error)) *Writer {
	return &Writer{out: segmentOutput{out: out}, directory: directorySpool{openFile: open}}
}

// Folder adds a folder; its name has slashes between its segments and none at its end.
func (w *Writer) Folder(name string, modified time.Time) error {
	_, err := w.add(&zip.FileHeader{Name: name + "/", Modified: modified})
	return err
}

// File adds a file, whose content is what is written to the result before anything else is added.
func (w *Writer) File(name string, modified time.Time) (io.Writer, error) {
	return w.add(&zip.FileHeader{Name: name, Method: zip.Store, Modified: modified})
}

func (w *Writer) add(h *zip.FileHeader) (io.Writer, error) {
	if w.segmentEntries == segmentSize {
		if err := w.endSegment(); err != nil {
			return nil, err
		}
	}
	if w.segment == nil {
		w.segment = zip.NewWriter(&w.out)
		w.segment.SetOffset(w.out.written)
	}
	w.segmentEntries++
	w.total++
	return w.segment.CreateHeader(h)
}

// Flush sends on what has been written so far.
func (w *Writer) Flush() error {
	if w.segment == nil {
		return nil
	}
	return w.segment.Flush()
}

// endSegment ends the present stretch. Its zip.Writer then writes what belongs after its last
// content, its directory, and an end of an archive; the first goes out, the second is kept for the
// end, the third is dropped.
func (w *Writer) endSegment() error {
	if w.segment == nil {
		return nil
	}
	if err := w.segment.Flush(); err != nil {
		return err
	}
	var tail bytes.Buffer
	w.out.tail = &tail
	err := w.segment.Close()
	w.out.tail, w.segment, w.segmentEntries = nil, nil, 0
	if err != nil {
		return err
	}
	descriptor, directory, err := splitTail(tail.Bytes())
	if err != nil {
		return err
	}
	if _, err := w.out.Write(descriptor); err != nil {
		return err
	}
	return w.directory.append(directory)
}

// Sizes and signatures of what ends an archive.
const (
	endSize          = 22
	end64Size        = 56
	locatorSize      = 20
	endSignature     = 0x06054b50
	end64Signature   = 0x06064b50
	locatorSignature = 0x07064b50
	max16            = 1<<16 - 1
	max32            = 1<<32 - 1
)

// splitTail splits what a zip.Writer has written at its end.
func splitTail(tail []byte) (descriptor, directory []byte, err error) {
	rest := len(tail) - endSize
	if rest < 0 || binary.LittleEndian.Uint32(tail[rest:]) != endSignature {
		return nil, nil, fmt.Errorf("zip: no end of a directory in %d bytes", len(tail))
	}
	size := uint64(binary.LittleEndian.Uint32(tail[rest+12:]))
	if binary.LittleEndian.Uint32(tail[rest+16:]) == max32 { // the numbers are in the Zip64 end before it
		rest -= end64Size + locatorSize
		if rest < 0 || binary.LittleEndian.Uint32(tail[rest:]) != end64Signature {
			return nil, nil, fmt.Errorf("zip: no Zip64 end of a directory in %d bytes", len(tail))
		}
		size = binary.LittleEndian.Uint64(tail[rest+40:])
	}
	if size > uint64(rest) {
		return nil, nil, fmt.Errorf("zip: a directory of %d bytes in %d", size, len(tail))
	}
	at := rest - int(size)
	return tail[:at], tail[at:rest], nil
}

// Finish writes the directory and with it ends the archive.
func (w *Writer) Finish() error {
	if err := w.endSegment(); err != nil {
		return err
	}
	start := uint64(w.out.written)
	if err := w.directory.writeTo(&w.out); err != nil {
		return err
	}
	_, err := w.out.Write(endRecords(w.total, start, uint64(w.out.written)-start))
	return err
}

// endRecords is what follows a directory of so many entries, which begins at start.
func endRecords(entries, start, size uint64) []byte {
	var b []byte
	le := binary.LittleEndian
	if entries >= max16 || start >= max32 || size >= max32 {
		b = le.AppendUint32(b, end64Signature)
		b = le.AppendUint64(b, end64Size-12) // without the signature and this field
		b = le.AppendUint16(b, 45)           // made by version 4.5
		b = le.AppendUint16(b, 45)           // as is needed for reading
		b = le.AppendUint32(b, 0)            // this disk
		b = le.AppendUint32(b, 0)            // the disk of the directory
		b = le.AppendUint64(b, entries)      // on this disk
		b = le.AppendUint64(b, entries)
		b = le.AppendUint64(b, size)
		b = le.AppendUint64(b, start)
		b = le.AppendUint32(b, locatorSignature)
		b = le.AppendUint32(b, 0) // the disk of the Zip64 end
		b = le.AppendUint64(b, start+size)
		b = le.AppendUint32(b, 1) // disks
		entries, start, size = max16, max32, max32
	}
	b = le.AppendUint32(b, endSignature)
	b = le.AppendUint32(b, 0) // disks, as above
	b = le.AppendUint16(b, uint16(entries))
	b = le.AppendUint16(b, uint16(entries))
	b = le.AppendUint32(b, uint32(size))
	b = le.AppendUint32(b, uint32(start))
	return le.AppendUint16(b, 0) // no comment
}

// Close frees what waits on the disk. It finishes nothing.
func (w *Writer) Close() { w.directory.close() }

// segmentOutput counts what goes out; while held is set it goes there.
type segmentOutput struct {
	out     io.Writer
	written int64
	tail    *bytes.Buffer
}

// Write implements io.Writer.
func (o *segmentOutput) Write(p []byte) (int, error) {
	if o.tail != nil {
		return o.tail.Write(p)
	}
	n, err := o.out.Write(p)
	o.written += int64(n)
	return n, err
}
