package api

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
)

// requestIDHeader is the field of requests and responses with the id of the request, by which
// administrators find it in the logs of the proxy and of this service.
const requestIDHeader = "X-Request-Id"

// maxRequestID is the maximum length, in bytes, of an id that a proxy may set.
const maxRequestID = 128

// requestIDOf returns the id that a trusted proxy gave the request, or a new one of 16 hexadecimal
// digits. Ids of other clients are ignored, since they could make entries of the log look like
// those of somebody else's request.
func (a *API) requestIDOf(r *http.Request) string {
	if given := r.Header[requestIDHeader]; len(given) == 1 && isRequestID(given[0]) {
		if peer, known := peerOf(r); known && a.isTrustedProxy(peer) {
			return given[0]
		}
	}
	return newRequestID()
}

// newRequestID returns a random id of 16 hexadecimal digits. Ids of requests are no secrets, so
// they come from the generator of the Go runtime, which makes no system call.
func newRequestID() string {
	var id [8]byte
	binary.BigEndian.PutUint64(id[:], rand.Uint64())
	return hex.EncodeToString(id[:])
}

// isRequestID reports whether an id of a proxy may appear in the logs: it has 1 to maxRequestID
// characters that common proxies use in ids, letters, digits and any of . _ : + / = @ -
func isRequestID(id string) bool {
	for i := range len(id) {
		switch b := id[i]; {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9':
		case b == '.', b == '_', b == ':', b == '+', b == '/', b == '=', b == '@', b == '-':
		default:
			return false
		}
	}
	return id != "" && len(id) <= maxRequestID
}
