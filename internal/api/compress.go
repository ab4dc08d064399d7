package api

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// Routes with the mark withCompression compress answers of more than compressAbove bytes by gzip.
// A shorter answer gains nothing, since it fits into one packet as it is.
//
// Compression tells the length of repeated text, so an attacker who adds text to an answer and sees
// its length on the wire can guess a secret in it (BREACH, abuse case C133). A route with the mark
// therefore has no secret in its answers: no token, key, share id, invite code, signed address or
// content of a file.
const compressAbove = 1 << 10

// compressionLevel was chosen by BenchmarkCompression: level 1 takes 0.5 ms for a listing of 200
// files and makes 6.6 KB of its 91 KB. Level 6 takes almost three times as long for 0.5 KB less.
const compressionLevel = 1

// compressor is a reusable gzip writer with the buffer that it fills.
type compressor struct {
	text   bytes.Buffer
	writer *gzip.Writer
}

var compressors = sync.Pool{New: func() any { return newCompressor(compressionLevel) }}

// newCompressor makes a compressor of a gzip level: compressionLevel, or another one in the
// benchmark.
func newCompressor(level int) *compressor {
	c := &compressor{}
	c.writer, _ = gzip.NewWriterLevel(&c.text, level) // fails for an unknown level only
	return c
}

// compress returns the gzip form of text. The result is in memory that the compressor's next call
// overwrites.
func (c *compressor) compress(text []byte) []byte {
	c.text.Reset()
	c.writer.Reset(&c.text)
	_, _ = c.writer.Write(text) // a buffer accepts all writes
	_ = c.writer.Close()
	return c.text.Bytes()
}

// send writes the status, the length and the whole body of an answer. It compresses the body if its
// route allows that, the client accepts it, and it is longer than compressAbove.
func (c *call) send(status int, body []byte) {
	h := c.w.Header()
	if c.route != nil && c.route.compressed && len(body) > compressAbove && acceptedEncoding(c.r, "gzip") != "" {
		gz := compressors.Get().(*compressor)
		defer compressors.Put(gz)
		body = gz.compress(body)
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	c.w.WriteHeader(status)
	_, _ = c.w.Write(body) // the client has disconnected if this fails
}

// acceptedEncoding returns the encoding of offered that Accept-Encoding prefers, the first of equal
// ones, or "" for none (RFC 9110, section 12.5.3). The client prefers none as well where it gives
// `identity` more weight.
func acceptedEncoding(r *http.Request, offered ...string) string {
	weights := map[string]int{}
	for entry := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, parameter, weighted := strings.Cut(entry, ";")
		name = strings.TrimPrefix(strings.ToLower(strings.Trim(name, " \t")), "x-") // section 8.4.1.3
		weight := 1000
		if weighted {
			weight = parseWeight(strings.ToLower(strings.Trim(parameter, " \t")))
		}
		if _, again := weights[name]; !again {
			weights[name] = weight
		}
	}
	best, most := "", max(weights["identity"], 1)
	for _, name := range offered {
		weight, named := weights[name]
		if !named {
			weight = weights["*"]
		}
		if weight > most || weight == most && best == "" {
			best, most = name, weight
		}
	}
	return best
}

// parseWeight returns the weight of an entry of Accept-Encoding, such as `q=0.5`, in thousandths, 0
// for a text that is no weight.
func parseWeight(parameter string) int {
	digits, found := strings.CutPrefix(parameter, "q=")
	whole, fraction, _ := strings.Cut(digits, ".")
	if !found || whole != "0" && whole != "1" || len(fraction) > 3 {
		return 0
	}
	weight, err := strconv.ParseUint(whole+(fraction + "000")[:3], 10, 16)
	if err != nil || weight > 1000 {
		return 0
	}
	return int(weight)
}
