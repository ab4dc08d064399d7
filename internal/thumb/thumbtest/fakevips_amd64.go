package thumbtest

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	fork  = unix.SYS_FORK
	vfork = unix.SYS_VFORK
)

// foreignCall calls getpid as a 32-bit program does. A kernel or a filter that refuses such calls
// kills the process.
func foreignCall() {
	code, err := unix.Mmap(-1, 0, unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC,
		unix.MAP_PRIVATE|unix.MAP_ANON)
	must(err)
	copy(code, "\xb8\x14\x00\x00\x00\xcd\x80\xc3") // mov eax, 20; int 0x80; ret
	entry := &code[0]
	function := &entry // a func value points to the address of its code
	(*(*func())(unsafe.Pointer(&function)))()
}
