package webdav

import (
	"net/http"
	"slices"
	"strings"

	"larder/internal/access"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/vpath"
)

// tokenScheme precedes the UUID of a lock in its token, which is a URI (RFC 4918, section 6.5).
const tokenScheme = "urn:uuid:"

// checkIf evaluates the If header, which lists ETags and lock tokens that must be current, and adds
// the lock tokens in it to the actor, whose changes then pass these locks. An actor without the
// permission for the request gets the fault of the permission instead of Precondition, which would
// tell whether the resource exists (RFC 9110, section 13.2.1). Faults: Invalid, Precondition,
// Forbidden, PasswordRequired.
func (req *request) checkIf() error {
	lists, err := parseIf(req.R.Header.Get("If"))
	if err != nil {
		return err
	}
	req.ifLists = lists
	for _, token := range submittedTokens(lists) {
		if id, ours := strings.CutPrefix(token, tokenScheme); ours {
			req.Actor.Locks = append(req.Actor.Locks, id)
		}
	}
	if lists == nil {
		return nil
	}
	return req.concealPrecondition(req.evaluateIf(nil))
}

// concealPrecondition returns verdict, the result of the request's conditions, unchanged, except
// that it replaces Precondition by the fault of the permission when the actor may not do what the
// request asks: Precondition would tell whether the resource exists.
func (req *request) concealPrecondition(verdict error) error {
	if !fault.Is(verdict, fault.Precondition) {
		return verdict
	}
	at, err := req.resource()
	if err != nil {
		return err
	}
	var needed access.Permission
	switch req.R.Method {
	case "PROPFIND":
		_, err = at.EntryFor(req.ctx(), req.Actor)
	case http.MethodGet, http.MethodHead:
		needed = access.Download
	case "COPY":
		needed = access.Read
	case http.MethodDelete, "MOVE":
		needed = access.Delete
	default:
		if needed = access.Write; at.Exists() {
			needed = access.Update
		}
	}
	if needed != 0 {
		err = at.Authorize(req.Actor, needed)
	}
	if err == nil || fault.Is(err, fault.NotFound) {
		return verdict
	}
	return err
}

// recheckContent checks the conditions in the request's headers again at the moment when the
// content at the path is replaced, after its body has been read; etag is that of the present
// content, "" for none. Fault: Precondition.
func (req *request) recheckContent(etag string) error {
	changed := req.Now().UnixMilli()
	if at, err := req.resource(); err != nil {
		return err
	} else if at.ETag() == etag {
		changed = at.UpdatedAt()
	}
	if err := req.checkConditions(etag, etag != "", changed); err != nil {
		return err
	}
	if req.ifLists == nil {
		return nil
	}
	return req.evaluateIf(&etag)
}

// recheckTarget checks, in the transaction that changes an entry by its id, that the entry is still
// at the path of the request, and checks the conditions again when its content has changed since.
// at and etag are the entry's present path and ETag. Other requests may have moved or changed it
// meanwhile. Faults: those of recheckContent; 404.
func (req *request) recheckTarget(at vpath.Path, etag string) error {
	if at != req.Path {
		return protocolError{status: http.StatusNotFound, message: "There is no such file or folder."}
	}
	if was, err := req.resource(); err != nil || was.ETag() == etag {
		return err
	}
	return req.recheckContent(etag)
}

// preconditionFailed returns the fault of a condition in a header that does not hold (status 412).
func preconditionFailed() error {
	return fault.New(fault.Precondition, "A precondition in the headers of the request is not met.")
}

// evaluateIf evaluates the lists of the If header: at least one must hold. Unless etag is nil, it
// is the present ETag of the file at the path and counts instead of the one looked up before.
// Fault: Precondition.
func (req *request) evaluateIf(etag *string) error {
	var broken error
	state := map[string]*resourceState{}
	if !anyListHolds(req.ifLists, func(resource string, c condition) bool {
		s, err := req.stateOf(state, resource)
		if err != nil {
			broken = err
			return false
		}
		if c.etag != "" {
			if s.own && etag != nil {
				return c.etag == *etag
			}
			return c.etag == s.etag
		}
		return slices.Contains(s.tokens, c.token)
	}) && broken == nil {
		return preconditionFailed()
	}
	return broken
}

// resourceState is the state of a resource that an If header names.
type resourceState struct {
	etag   string
	tokens []string // of the key's own locks that cover it
	own    bool     // it is the resource of the request
}

// stateOf returns the ETag and the caller's own locks of a resource that an If header names by its
// address, "" for the request's own, and caches them in known. A resource on another server, or
// with a malformed address, has an empty state, which no condition matches.
func (req *request) stateOf(known map[string]*resourceState, resource string) (*resourceState, error) {
	if s := known[resource]; s != nil {
		return s, nil
	}
	s := &resourceState{}
	known[resource] = s
	path := req.Path
	if resource != "" {
		var err error
		if path, _, err = parseDestination(resource, req.BaseURL, req.R.Host); err != nil {
			return s, nil
		}
	}
	s.own = path == req.Path
	at, err := req.resourceAt(path)
	if err != nil {
		return nil, err
	}
	s.etag = at.ETag()
	locks, err := at.Locks(req.ctx())
	if err != nil {
		return nil, err
	}
	for _, l := range locks {
		if req.Actor.Key != nil && l.KeyID == req.Actor.Key.ID {
			s.tokens = append(s.tokens, tokenScheme+l.Token)
		}
	}
	return s, nil
}

// resourceAt looks up what is at a path, which may be nothing; the request's own path is looked up
// only once.
func (req *request) resourceAt(path vpath.Path) (*files.Resource, error) {
	if path == req.Path {
		return req.resource()
	}
	return req.Tree.ResourceAt(req.ctx(), path)
}

// checkConditions checks If-Match, or If-Unmodified-Since when there is no If-Match, and then
// If-None-Match (RFC 9110, section 13.2.2). etag is the resource's, "" for a folder and for none;
// changed is the time of the resource's last change in ms. Fault: Precondition.
func (req *request) checkConditions(etag string, exists bool, changed int64) error {
	if wanted := req.R.Header.Values("If-Match"); len(wanted) > 0 {
		if !listsETag(wanted, etag, exists, false) {
			return preconditionFailed()
		}
	} else if since, err := http.ParseTime(req.R.Header.Get("If-Unmodified-Since")); err == nil && exists &&
		changed/1000 > since.Unix() {
		return preconditionFailed()
	}
	if unwanted := req.R.Header.Values("If-None-Match"); len(unwanted) > 0 && listsETag(unwanted, etag, exists, true) {
		return preconditionFailed()
	}
	return nil
}

// listsETag reports whether the ETags in the headers If-Match or If-None-Match contain etag, or
// contain `*` while the resource exists. With weak, a weak ETag in the list equals the strong one.
func listsETag(headers []string, etag string, exists, weak bool) bool {
	for one := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		one = trimBlank(one)
		if one == "*" && exists {
			return true
		}
		if weak {
			one = strings.TrimPrefix(one, "W/")
		}
		if etag != "" && one == etag {
			return true
		}
	}
	return false
}
