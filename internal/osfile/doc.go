// Package osfile has the file operations that differ between Windows and the other operating
// systems.
package osfile
