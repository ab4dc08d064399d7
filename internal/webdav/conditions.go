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

// tokenScheme is what a lock's UUID is written after, as a URI (RFC 4918, section 6.5).
const tokenScheme = "urn:uuid:"

// checkIf judges the If header, whose tokens come along from here on. That it does not hold is told
// only to who may do what is asked, or it would tell others what is there (RFC 9110, section
// 13.2.1). Faults: Invalid, Precondition, Forbidden, PasswordRequired.
func (q *request) checkIf() error {
	lists, err := parseIf(q.R.Header.Get("If"))
	if err != nil {
		return err
	}
	q.ifLists = lists
	for _, token := range submittedTokens(lists) {
		if id, ours := strings.CutPrefix(token, tokenScheme); ours {
			q.Actor.Locks = append(q.Actor.Locks, id)
		}
	}
	if lists == nil {
		return nil
	}
	return q.concealPrecondition(q.evaluateIf(nil))
}

// concealPrecondition is what the verdict of the conditions becomes for who may not
// do what is asked.
func (q *request) concealPrecondition(verdict error) error {
	if !fault.Is(verdict, fault.Precondition) {
		return verdict
	}
	at, err := q.resource()
	if err != nil {
		return err
	}
	var needed access.Permission
	switch q.R.Method {
	case "PROPFIND":
		_, err = at.EntryFor(q.ctx(), q.Actor)
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
		err = at.Authorize(q.Actor, needed)
	}
	if err == nil || fault.Is(err, fault.NotFound) {
		return verdict
	}
	return err
}

// recheckContent judges the conditions once more by what lies at the path at the moment when its
// content is replaced. Fault: Precondition.
func (q *request) recheckContent(etag string) error {
	changed := q.Now().UnixMilli()
	if at, err := q.resource(); err != nil {
		return err
	} else if at.ETag() == etag {
		changed = at.UpdatedAt()
	}
	if err := q.checkConditions(etag, etag != "", changed); err != nil {
		return err
	}
	if q.ifLists == nil {
		return nil
	}
	return q.evaluateIf(&etag)
}

// recheckTarget holds what is changed by its id to what the request was about: others may have
// moved it away meanwhile, or given it other content. Faults: those of expect; 404.
func (q *request) recheckTarget(at vpath.Path, etag string) error {
	if at != q.Path {
		return protocolError{status: http.StatusNotFound, message: "There is no such file or folder."}
	}
	if was, err := q.resource(); err != nil || was.ETag() == etag {
		return err
	}
	return q.recheckContent(etag)
}

func preconditionFailed() error {
	return fault.New(fault.Precondition, "It is not what the request says it must be.")
}

// evaluateIf evaluates the If header; etag, unless it is nil, is what the file at the
// path has by now.
func (q *request) evaluateIf(etag *string) error {
	var broken error
	state := map[string]*resourceState{}
	if !anyListHolds(q.ifLists, func(resource string, c condition) bool {
		s, err := q.stateOf(state, resource)
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
	tokens []string // of the locks that cover it and are the key's
	own    bool     // it is what the request is about
}

// stateOf looks the state of a resource up, "" for the request's own. What is not here has none.
func (q *request) stateOf(known map[string]*resourceState, resource string) (*resourceState, error) {
	if s := known[resource]; s != nil {
		return s, nil
	}
	s := &resourceState{}
	known[resource] = s
	path := q.Path
	if resource != "" {
		var err error
		if path, _, err = parseDestination(resource, q.BaseURL, q.R.Host); err != nil {
			return s, nil
		}
	}
	s.own = path == q.Path
	at, err := q.resourceAt(path)
	if err != nil {
		return nil, err
	}
	s.etag = at.ETag()
	locks, err := at.Locks(q.ctx())
	if err != nil {
		return nil, err
	}
	for _, l := range locks {
		if q.Actor.Key != nil && l.KeyID == q.Actor.Key.ID {
			s.tokens = append(s.tokens, tokenScheme+l.Token)
		}
	}
	return s, nil
}

func (q *request) resourceAt(path vpath.Path) (*files.Resource, error) {
	if path == q.Path {
		return q.resource()
	}
	return q.Tree.ResourceAt(q.ctx(), path)
}

// checkConditions judges If-Match, without it If-Unmodified-Since, and If-None-Match (RFC 9110,
// section 13.2.2). changed is when what is there changed last, in ms. Fault: Precondition.
func (q *request) checkConditions(etag string, exists bool, changed int64) error {
	if wanted := q.R.Header.Values("If-Match"); len(wanted) > 0 {
		if !listsETag(wanted, etag, exists, false) {
			return preconditionFailed()
		}
	} else if since, err := http.ParseTime(q.R.Header.Get("If-Unmodified-Since")); err == nil && exists &&
		changed/1000 > since.Unix() {
		return preconditionFailed()
	}
	if unwanted := q.R.Header.Values("If-None-Match"); len(unwanted) > 0 && listsETag(unwanted, etag, exists, true) {
		return preconditionFailed()
	}
	return nil
}

// listsETag reports whether a list of ETags names this one, or is `*` and there is something. A
// weak one is the same as a strong one where weak counts.
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
