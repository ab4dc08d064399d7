// Package zipstream writes a zip archive to a stream. Its memory does not grow with the number of
// entries, while archive/zip keeps every entry in memory until the end.
//
// Contents are stored without compression, since pictures, video and archives are compressed
// already. Sizes and checksums follow the contents (data descriptors). The directory follows at the
// end; only Finish writes it, so that programs recognise an unfinished archive as incomplete. Names
// are UTF-8. Values that exceed the old fields are in the Zip64 ones. Format: APPNOTE.TXT 6.3.10 of
// PKWARE.
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

// segmentSize is how many entries one zip.Writer writes. Then it is closed, and its directory is
// kept for the end of the archive.
const segmentSize = 512

// Writer writes one archive. It is not safe for concurrent use.
type Writer struct {
	out            segmentOutput
	segment        *zip.Writer // of the present segment, nil before its first entry
	segmentEntries int         // entries in the present segment
	total          uint64      // entries in all
	directory      directorySpool
}

// New returns a Writer that sends an archive to out. A directory (the list of entries at the end)
// of more than one MiB is kept in the file that open returns; Close closes the file.
func New(out io.Writer, open func() (*os.File, error)) *Writer {
	return &Writer{out: segmentOutput{out: out}, directory: directorySpool{openFile: open}}
}

// Folder adds an empty folder entry. The segments of its name are separated by slashes; no slash
// ends it.
func (w *Writer) Folder(name string, modified time.Time) error {
	_, err := w.add(&zip.FileHeader{Name: name + "/", Modified: modified})
	return err
}

// File adds a file, whose name may have folders separated by slashes. The caller writes its content
// to the result before it adds anything else.
func (w *Writer) File(name string, modified time.Time) (io.Writer, error) {
	return w.add(&zip.FileHeader{Name: name, Method: zip.Store, Modified: modified})
}

// add begins an entry with the header h, and before it a new segment (the entries that one
// zip.Writer writes) if the present one is full. The caller writes the content to the result.
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

// Flush sends the bytes that the Writer has buffered to the output.
func (w *Writer) Flush() error {
	if w.segment == nil {
		return nil
	}
	return w.segment.Flush()
}

// endSegment ends the present segment, the entries that one zip.Writer has written. Closing its
// zip.Writer writes three things: the descriptor of the last content, which is sent; the directory,
// which is kept for the end of the archive; and an end of the archive, which is dropped.
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

// Sizes and signatures of the records that end an archive.
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

// splitTail splits the bytes that a zip.Writer writes when it is closed: the descriptor of the last
// content and the directory. It drops the end records after them. An error means that the bytes
// have another form.
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

// Finish ends the archive: it writes the directory and the end records.
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

// endRecords returns the records after the directory. entries is the number of entries, start and
// size are the offset and the length of the directory in bytes.
func endRecords(entries, start, size uint64) []byte {
	var b []byte
	le := binary.LittleEndian
	if entries >= max16 || start >= max32 || size >= max32 {
		b = le.AppendUint32(b, end64Signature)
		b = le.AppendUint64(b, end64Size-12) // without the signature and this field
		b = le.AppendUint16(b, 45)           // made by version 4.5
		b = le.AppendUint16(b, 45)           // version needed for reading
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

// Close releases the file of the directory. It does not finish the archive.
func (w *Writer) Close() { w.directory.close() }

// segmentOutput counts the bytes that it sends to out. While tail is set, it writes to tail instead
// and counts nothing.
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
