package api

import (
	"bufio"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"

	"github.com/gabriel-vasile/mimetype"

	"larder/internal/apikey"
	"larder/internal/audit"
	"larder/internal/fault"
	"larder/internal/upload"
	"larder/internal/vpath"
)

type compatibleUploadReply struct {
	URL       string         `json:"url" required:"true"`
	FileID    string         `json:"fileId" required:"true"`
	Path      string         `json:"path" required:"true" description:"Path of the parent folder."`
	Size      int64          `json:"size" required:"true"`
	Filename  string         `json:"filename" required:"true"`
	DirectURL string         `json:"directUrl" required:"true" description:"The permanent link when the key creates links, otherwise the public path."`
	Links     linkTextsReply `json:"links" required:"true"`
}

// incomingFile is the file of an upload in one request before it is stored.
type incomingFile struct {
	body     io.Reader
	size     int64 // -1 unknown
	name     string
	mimeType string
	path     string                 // from the request, may be empty
	buffered *upload.BufferedUpload // nil for a body that is read from the client
}

// compatibleUpload handles POST /api/upload and its two aliases: it stores a file that comes as a
// form or as the raw body, in the variants that image clients such as PicGo send (specification:
// Compatible upload endpoints).
func (a *API) compatibleUpload(c *call) error {
	if err := c.requirePermission("write"); err != nil {
		return err
	}
	if c.r.UserAgent() == "PicGo" {
		// PicGo's command line exits when the connection closes, and an idle connection stays open
		// for minutes.
		c.w.Header().Set("Connection", "close")
	}
	media, params, _ := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if media == "multipart/form-data" {
		return c.uploadForm(params["boundary"])
	}
	in, err := c.readRawUpload(media)
	if err != nil {
		return err
	}
	return c.storeUpload(in)
}

// readRawUpload describes the file of an upload whose body is the file itself: it takes name and
// path from the headers. media is the type in Content-Type. Fault: Invalid, when the request has
// neither a name nor a body.
func (c *call) readRawUpload(media string) (incomingFile, error) {
	in := incomingFile{body: c.r.Body, size: c.r.ContentLength, mimeType: c.r.Header.Get("Content-Type"),
		path: c.r.Header.Get("X-Path")}
	in.name = c.r.Header.Get("X-File-Name")
	if in.name == "" {
		in.name = c.r.Header.Get("filename")
	}
	if in.name == "" && (in.size == 0 || media == "application/x-www-form-urlencoded") {
		return incomingFile{}, fault.New(fault.Invalid,
			"The request contains no file. Send a form with the field `file`, or the file as the body.")
	}
	return in, nil
}

// storeUpload stores the file of a compatible upload in the folder that the key's path template or
// the request names, and answers with the addresses of the file. A name that is taken gets a
// number.
func (c *call) storeUpload(in incomingFile) error {
	in.body = &recheckedBody{Reader: in.body, call: c}
	name, body, err := c.uploadName(in)
	if err != nil {
		return err
	}
	ids := c.a.IDs
	dir, err := c.key.UploadFolder(decodeName(in.path, false),
		apikey.TemplateValues{Now: c.a.Now().UTC(), UUID: ids.UUID(), Random: ids.Base62(8), Username: c.user.Username,
			FileName: string(name)})
	if err != nil {
		return err
	}
	c.audit(audit.Upload, dir.Child(name))
	result, err := c.a.Uploads.Put(c.ctx(), c.actor, upload.OneShot{
		Dir: dir, Name: name, Size: in.size, MimeType: in.mimeType, Conflict: "rename", Links: c.key.PublicLinks,
		Body: body, Buffered: in.buffered,
	})
	if err != nil {
		return err
	}
	c.auditUpload(result.File)
	c.answer(http.StatusOK, c.viewUpload(result))
	return nil
}

// viewUpload makes the reply of a compatible upload. Its direct address is the permanent link if
// the upload made one, else the public path.
func (c *call) viewUpload(result upload.Result) compatibleUploadReply {
	file := result.File
	direct := c.pathURL(file.Path())
	if result.Link != nil {
		direct = c.linkURL(*result.Link)
	}
	return compatibleUploadReply{
		URL: c.url("/api/files/" + file.ID + "/download"), FileID: file.ID, Path: file.Dir.String(), Size: file.Size,
		Filename:  file.Name,
		DirectURL: direct, Links: linkTexts(direct, file),
	}
}

// uploadName returns the name to store the file under: the sent one, or one made from the time and
// the type. It also returns the reader to continue with, since it may have looked at the first
// bytes. Fault: Invalid for a name that no entry may have, Unverified for a body that ends early.
func (c *call) uploadName(in incomingFile) (vpath.Name, io.Reader, error) {
	text := decodeName(in.name, true)
	if text != "" {
		name, err := vpath.ParseName(text)
		return name, in.body, err
	}
	peeked := bufio.NewReaderSize(in.body, 4096)
	head, err := peeked.Peek(3072)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", nil, bodyError(err)
	}
	base, _, _ := mime.ParseMediaType(in.mimeType)
	kind := mimetype.Lookup(base)
	if kind == nil || kind.Is("application/octet-stream") {
		kind = mimetype.Detect(head)
	}
	extension := kind.Extension()
	if extension == "" {
		extension = ".bin"
	}
	return vpath.Name("upload-" + c.a.Now().UTC().Format("20060102-150405.000") + extension), peeked, nil
}

// decodeName decodes the name of a file (isName) or the path of a folder that a client sent in a
// header or form: raw UTF-8, RFC 2047, or percent-encoded. Text counts as percent-encoded only if
// it contains no characters other than those that encodeURIComponent produces. A file name loses
// its directory part, with either slash.
func decodeName(text string, isName bool) string {
	if strings.Contains(text, "=?") {
		decoder := mime.WordDecoder{}
		if decoded, err := decoder.DecodeHeader(text); err == nil {
			text = decoded
		}
	}
	if strings.Contains(text, "%") && !strings.ContainsFunc(text,
		func(r rune) bool { return !isEncodedName(r, isName) }) {
		if segments, err := decodeSegments(text); err == nil {
			text = strings.Join(segments, "/")
		}
	}
	if isName {
		text = strings.TrimSpace(text[strings.LastIndexAny(text, `/\`)+1:])
	}
	return text
}

// isEncodedName reports whether a character can occur in a percent-encoded name of a file (isName)
// or path of a folder. A path may also contain slashes, and braces of placeholders.
func isEncodedName(r rune, isName bool) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return true
	case strings.ContainsRune("-_.!~*'()%", r):
		return true
	}
	return !isName && strings.ContainsRune("/{}", r)
}

// bodyError returns the fault Unverified for a request body that ends early or can't be read; err
// is the cause. A fault of the body's reader stays.
func bodyError(err error) error {
	var known *fault.Error
	if errors.As(err, &known) {
		return err
	}
	return fault.New(fault.Unverified, "The body ended before it was complete.").WithCause(err)
}

// compatiblePreflight handles OPTIONS of the compatible uploads: it answers the CORS preflight, so
// that pages of other sites can upload with a key.
func (a *API) compatiblePreflight(c *call) error {
	h := c.w.Header()
	allowAllOrigins(h)
	h.Set("Access-Control-Allow-Methods", "POST, OPTIONS")
	h.Set("Access-Control-Allow-Headers", "Authorization, token, X-File-Name, filename, X-Path, Content-Type")
	h.Set("Access-Control-Max-Age", "86400")
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// maxParts is the largest number of fields that are read from a form.
const maxParts = 1000

// uploadForm stores the file of a compatible upload that comes as a form. It reads the form once,
// from beginning to end. The file is the field `file`, or the first file field if none has that
// name. If the path is known before the file begins, the bytes go straight to the store. Otherwise
// they wait for the path, in memory while they are few, then on disk.
func (c *call) uploadForm(boundary string) error {
	if boundary == "" {
		return fault.New(fault.Invalid, "The Content-Type of the form has no boundary.")
	}
	form := multipart.NewReader(c.r.Body, boundary)
	path, pathKnown := c.r.Header.Get("X-Path"), c.r.Header.Get("X-Path") != ""
	var waiting *spooledFile
	defer func() { c.discard(waiting) }()
	for count := 0; ; count++ {
		part, err := form.NextRawPart()
		switch {
		case count > maxParts:
			return fault.Newf(fault.Invalid, "A form has at most %d fields.", maxParts)
		case err == io.EOF: // not errors.Is: the error of a form that ends early wraps io.EOF
			if waiting == nil {
				return fault.New(fault.Invalid, "The form contains no file. Send it in the field `file`.")
			}
			in := waiting.in
			in.path = path
			return c.storeUpload(in)
		case err != nil:
			return fault.New(fault.Invalid, "The form is malformed or ended early.").WithCause(err)
		}
		field, name, isFile := partNames(part)
		switch {
		case !isFile && field == "path" && !pathKnown:
			text, err := io.ReadAll(io.LimitReader(part, 4*vpath.MaxBytes))
			if err != nil {
				return bodyError(err)
			}
			path, pathKnown = strings.TrimSpace(string(text)), true
		case isFile && field == "file" && pathKnown:
			c.discard(waiting)
			waiting = nil
			return c.storeUpload(incomingFile{body: formBody{part}, size: -1, name: name,
				mimeType: part.Header.Get("Content-Type"), path: path})
		case isFile && (waiting == nil || field == "file" && !waiting.isFileField):
			c.discard(waiting)
			waiting, err = c.spoolPart(part, name, field == "file")
			if err != nil {
				return err
			}
		}
	}
}

// partNames returns the field name and file name of a form part, and whether the part is a file.
// Some clients write these names without quotes or in raw UTF-8.
func partNames(part *multipart.Part) (field, name string, isFile bool) {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil {
		return part.FormName(), part.FileName(), part.FileName() != ""
	}
	name, isFile = params["filename"]
	return params["name"], name, isFile
}

// formBody is the body of a form part. It returns the fault Unverified when the form ends early.
type formBody struct{ io.Reader }

// Read implements io.Reader.
func (b formBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = bodyError(err)
	}
	return n, err
}
