package picture

import (
	"encoding/binary"
	"errors"
	"io"
)

// box is a box of an ISO media file (ISO/IEC 14496-12, section 4.2): its type, and where its
// content begins and ends, in bytes.
type box struct {
	name       string
	start, end int64
}

// boxes returns the boxes between two offsets, as far as they can be read.
func boxes(in io.ReaderAt, at, end int64) (found []box) {
	for len(found) < maxSteps && at < end {
		head := read(in, at, 16)
		if len(head) < 8 {
			break
		}
		size, start := int64(binary.BigEndian.Uint32(head)), at+8
		switch {
		case size == 1 && len(head) == 16:
			size, start = int64(binary.BigEndian.Uint64(head[8:])), at+16
		case size == 0: // to the end of the file
			size = end - at
		}
		if size < start-at || size > end-at {
			break
		}
		found = append(found, box{string(head[4:8]), start, at + size})
		at += size
	}
	return found
}

// child returns the first box with a name between two offsets.
func child(in io.ReaderAt, name string, at, end int64) (b box, found bool) {
	for _, b := range boxes(in, at, end) {
		if b.name == name {
			return b, true
		}
	}
	return box{}, false
}

// metaOfHEIF returns where the boxes of the metadata of a HEIF file begin and end (ISO/IEC
// 23008-12).
func metaOfHEIF(in io.ReaderAt) (at, end int64, found bool) {
	meta, found := child(in, "meta", 0, 1<<62)
	return meta.start + 4, meta.end, found // after version and flags
}

// sizeOfHEIF returns the width and height of the primary image of a HEIF file, in pixels, after its
// rotation.
func sizeOfHEIF(in io.ReaderAt) (width, height int, err error) {
	at, end, found := metaOfHEIF(in)
	primary, there := child(in, "pitm", at, end)
	properties, known := child(in, "iprp", at, end)
	if !found || !there || !known {
		return 0, 0, errors.New("thumb: a HEIF file without a primary image")
	}
	turned := false
	for _, b := range propertiesOf(in, properties, itemID(in, primary)) {
		content := read(in, b.start, 12)
		switch {
		case b.name == "ispe" && len(content) == 12:
			w, h := binary.BigEndian.Uint32(content[4:]), binary.BigEndian.Uint32(content[8:])
			width, height = int(min(w, maxLength+1)), int(min(h, maxLength+1))
		case b.name == "irot" && len(content) > 0:
			turned = content[0]&1 == 1 // in quarters
		}
	}
	if width < 1 || width > maxLength || height < 1 || height > maxLength {
		return 0, 0, errors.New("thumb: a HEIF file without a valid size")
	}
	if turned {
		width, height = height, width
	}
	return width, height, nil
}

// itemID returns the id in the box pitm (ISO/IEC 14496-12, section 8.11.4).
func itemID(in io.ReaderAt, primary box) uint64 {
	r := &boxReader{in: in, at: primary.start, end: primary.end}
	version := r.number(1)
	r.number(3)
	if version == 0 {
		return r.number(2)
	}
	return r.number(4)
}

// propertiesOf returns the properties of an item, which the box iprp contains (ISO/IEC 23008-12,
// section 9.3).
func propertiesOf(in io.ReaderAt, properties box, item uint64) (found []box) {
	list, _ := child(in, "ipco", properties.start, properties.end)
	all := boxes(in, list.start, list.end)
	uses, _ := child(in, "ipma", properties.start, properties.end)
	r := &boxReader{in: in, at: uses.start, end: uses.end}
	version, flags := r.number(1), r.number(3)
	idSize, indexSize := 2, 1
	if version > 0 {
		idSize = 4
	}
	if flags&1 == 1 {
		indexSize = 2
	}
	for range min(r.number(4), maxSteps) {
		of := r.number(idSize)
		for range r.number(1) {
			index := r.number(indexSize) &^ (1 << (8*indexSize - 1)) // without the mark of an essential property
			if of == item && !r.failed && index >= 1 && index <= uint64(len(all)) {
				found = append(found, all[index-1])
			}
		}
		if r.failed {
			break
		}
	}
	return found
}

// exifOfHEIF looks for the item with EXIF in a HEIF file, and returns the offset of its TIFF
// structure in bytes.
func exifOfHEIF(in io.ReaderAt) (at int64, found bool) {
	start, end, found := metaOfHEIF(in)
	items, there := child(in, "iinf", start, end)
	locations, known := child(in, "iloc", start, end)
	if !found || !there || !known {
		return 0, false
	}
	id, found := exifItem(in, items)
	if !found {
		return 0, false
	}
	at, found = itemOffset(in, locations, id)
	skip := read(in, at, 4) // the bytes before the TIFF structure
	if !found || len(skip) < 4 {
		return 0, false
	}
	return at + 4 + int64(binary.BigEndian.Uint32(skip)), true
}

// exifItem returns the id of the item with EXIF in the box iinf (ISO/IEC 14496-12, section
// 8.11.6).
func exifItem(in io.ReaderAt, items box) (id uint32, found bool) {
	version := read(in, items.start, 1)
	if len(version) < 1 {
		return 0, false
	}
	at := items.start + 6 // after version, flags and the number of items
	if version[0] > 0 {
		at += 2
	}
	for _, b := range boxes(in, at, items.end) {
		content := read(in, b.start, 14)
		switch {
		case b.name != "infe" || len(content) < 12:
		case content[0] == 2 && string(content[8:12]) == "Exif":
			return uint32(binary.BigEndian.Uint16(content[4:])), true
		case content[0] == 3 && len(content) == 14 && string(content[10:14]) == "Exif":
			return binary.BigEndian.Uint32(content[4:]), true
		}
	}
	return 0, false
}

// itemOffset returns the offset in the file of the first bytes of an item, by the box iloc (ISO/IEC
// 14496-12, section 8.11.3). Items that do not lie in the file itself are not found.
func itemOffset(in io.ReaderAt, locations box, id uint32) (at int64, found bool) {
	r := &boxReader{in: in, at: locations.start, end: locations.end}
	version := r.number(1)
	r.number(3)
	sizes := r.number(2) // four bits each: offset, length, base offset, index
	offsetSize, lengthSize, baseSize, indexSize := int(sizes>>12), int(sizes>>8&15), int(sizes>>4&15), int(sizes&15)
	idSize := 2
	if version == 2 {
		idSize = 4
	}
	for range min(r.number(idSize), maxSteps) {
		item, method := r.number(idSize), uint64(0)
		if version > 0 {
			method = r.number(2) & 15
		}
		r.number(2) // the file; 0 for this one
		base := r.number(baseSize)
		for i := range min(r.number(2), maxSteps) {
			if version > 0 {
				r.number(indexSize)
			}
			offset := r.number(offsetSize)
			r.number(lengthSize)
			if i == 0 && item == uint64(id) && method == 0 && !r.failed {
				return int64(base + offset), int64(base+offset) >= 0
			}
			if r.failed {
				return 0, false
			}
		}
		if r.failed {
			break
		}
	}
	return 0, false
}

// boxReader reads numbers from the content of a box.
type boxReader struct {
	in      io.ReaderAt
	at, end int64
	numbers int  // that were read
	failed  bool // a number was not there
}

// number reads a number of size bytes, at most 8. It fails after 16 * maxSteps numbers.
func (r *boxReader) number(size int) (n uint64) {
	if r.numbers++; r.numbers > 16*maxSteps {
		r.failed = true
	}
	if r.failed {
		return 0
	}
	b := read(r.in, r.at, min(size, 8))
	if len(b) < size || r.at+int64(size) > r.end {
		r.failed = true
		return 0
	}
	r.at += int64(size)
	for _, digit := range b {
		n = n<<8 | uint64(digit)
	}
	return n
}
