package thumbtest

import "encoding/binary"

// Field is a field of EXIF.
type Field struct {
	Tag, Kind uint16
	Count     uint32
	value     func(order binary.AppendByteOrder) []byte
}

// Text returns a field of text.
func Text(tag uint16, text string) Field {
	return Field{tag, 2, uint32(len(text) + 1),
		func(binary.AppendByteOrder) []byte { return append([]byte(text), 0) }}
}

// Byte returns a field of one byte.
func Byte(tag uint16, value byte) Field {
	return Field{tag, 1, 1, func(binary.AppendByteOrder) []byte { return []byte{value} }}
}

// Short returns a field of one number of 16 bits.
func Short(tag, value uint16) Field {
	return Field{tag, 3, 1, func(order binary.AppendByteOrder) []byte { return order.AppendUint16(nil, value) }}
}

// Long returns a field of one number of 32 bits.
func Long(tag uint16, value uint32) Field {
	return Field{tag, 4, 1, func(order binary.AppendByteOrder) []byte { return order.AppendUint32(nil, value) }}
}

// Rationals returns a field of fractions: numerators and denominators in turn.
func Rationals(tag uint16, numbers ...uint32) Field {
	return Field{tag, 5, uint32(len(numbers) / 2), func(order binary.AppendByteOrder) (b []byte) {
		for _, number := range numbers {
			b = order.AppendUint32(b, number)
		}
		return b
	}}
}

// EXIFOf returns the content of an EXIF block with fields in its first directory, and in the
// directories about the exposure and the coordinates.
func EXIFOf(order binary.AppendByteOrder, first, exposure, coordinates []Field) []byte {
	mark := "II"
	if order.AppendUint16(nil, 1)[0] == 0 {
		mark = "MM"
	}
	length := func(fields []Field) uint32 { return uint32(2 + 12*len(fields) + 4) }
	const head, pointers = 8, 2 * 12
	exposureAt := head + length(first) + pointers
	coordinatesAt := exposureAt + length(exposure)
	first = append(append([]Field{}, first...), Long(0x8769, exposureAt), Long(0x8825, coordinatesAt))

	b := order.AppendUint32(order.AppendUint16([]byte(mark), 42), head)
	valuesAt := coordinatesAt + length(coordinates)
	var values []byte
	for _, directory := range [][]Field{first, exposure, coordinates} {
		b = order.AppendUint16(b, uint16(len(directory)))
		for _, f := range directory {
			b = order.AppendUint32(order.AppendUint16(order.AppendUint16(b, f.Tag), f.Kind), f.Count)
			value := f.value(order)
			if len(value) > 4 {
				at := valuesAt + uint32(len(values))
				values = append(values, value...)
				value = order.AppendUint32(nil, at)
			}
			b = append(append(b, value...), make([]byte, 4-len(value))...)
		}
		b = order.AppendUint32(b, 0)
	}
	return append(b, values...)
}

// Holiday is the EXIF of a photograph with a camera, a lens, an exposure and coordinates.
func Holiday(order binary.AppendByteOrder) []byte {
	return EXIFOf(order,
		[]Field{Text(0x010f, "NIKON CORPORATION"), Text(0x0110, "NIKON D750 ")},
		[]Field{Rationals(0x829a, 1, 250), Rationals(0x829d, 28, 10), Short(0x8827, 400), Rationals(0x920a, 35, 1),
			Text(0xa434, "35mm f/1.8")},
		[]Field{Text(1, "S"), Rationals(2, 33, 1, 51, 1, 3120, 100), Text(3, "E"), Rationals(4, 151, 1, 12, 1, 54, 1),
			Byte(5, 1), Rationals(6, 25, 2)})
}
