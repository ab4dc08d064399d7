// Package osfile provides file operations that Windows implements differently from Linux and macOS:
// durable writes, locks, temporary files and the free space of a disk.
package osfile
