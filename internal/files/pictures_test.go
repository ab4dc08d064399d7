package files_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/iotest"
	"time"

	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/files"
	"larder/internal/vpath"
)

// unexamined lists the pictures that are to be examined.
func (f *fixture) unexamined() []files.UnexaminedPicture {
	f.t.Helper()
	found, err := f.tree.Unexamined(f.t.Context(), files.FirstExaminePosition, 100)
	f.must(err)
	return found
}

// examine records a picture for each file that is to be examined, and returns their number.
func (f *fixture) examine(p *files.Picture) int {
	f.t.Helper()
	var examined []files.ExaminedPicture
	for _, u := range f.unexamined() {
		examined = append(examined, files.ExaminedPicture{UnexaminedPicture: u, Picture: p})
	}
	f.must(f.tree.RecordExamined(f.t.Context(), examined))
	return len(examined)
}

// typedFile uploads content as a file of a type, in place of one at that path.
func (f *fixture) typedFile(a access.Actor, p, content, mimeType string) files.Entry {
	f.t.Helper()
	dest, err := f.tree.ResolveDestination(f.t.Context(), a, mustParsePath(p).Parent(), mustParsePath(p).Base(),
		files.Replace)
	f.must(err)
	stored := f.storeContentIn(dest.ProviderID, content)
	stored.MimeType = mimeType
	e, err := f.putEntry(a, dest, stored)
	f.must(err)
	return e
}

// picture is typedFile for the type image/jpeg.
func (f *fixture) picture(a access.Actor, p, content string) files.Entry {
	f.t.Helper()
	return f.typedFile(a, p, content, "image/jpeg")
}

// wantPicture compares what an actor learns of the picture with this id, in details and listing.
func (f *fixture) wantPicture(what string, a access.Actor, dir, id string, want *files.Picture) {
	f.t.Helper()
	same := func(got *files.Picture) bool {
		return got == nil && want == nil || got != nil && want != nil && got.Width == want.Width &&
			got.Height == want.Height && got.Orientation == want.Orientation && got.TakenAt == want.TakenAt &&
			slices.Equal(got.ThumbHash, want.ThumbHash)
	}
	e, _, err := f.tree.Details(f.t.Context(), a, id)
	f.must(err)
	if !same(e.Picture) {
		f.t.Errorf("%s: details have %+v, want %+v", what, e.Picture, want)
	}
	listing, err := f.tree.List(f.t.Context(), a, files.ListQuery{Path: mustParsePath(dir), Page: 1, Limit: 100})
	f.must(err)
	i := slices.IndexFunc(listing.Items, func(e files.Entry) bool { return e.ID == id })
	if i < 0 || !same(listing.Items[i].Picture) {
		f.t.Errorf("%s: the listing has %+v, want %+v", what, listing.Items, want)
	}
}

// The list of unexamined pictures contains a picture after its upload and after a replacement of
// its content. It never contains files of other types, copies of examined pictures, nor a picture
// whose examination failed and was recorded.
func TestUnexaminedPictures(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		lake := h.picture(h.ann, "/home/ann/lake.jpg", "lake")
		h.advance(time.Millisecond)
		sea := h.picture(h.ann, "/home/ann/sea.png", "sea")
		h.mustUpload(h.ann, "/home/ann/notes.txt", "notes")
		found := h.unexamined()
		if len(found) != 2 || found[0].Content == found[1].Content || found[0].Known || found[0].Size != 3 {
			t.Fatalf("to be examined: %+v, want sea.png and lake.jpg", found)
		}
		if rest, err := h.tree.Unexamined(t.Context(), found[0].Position, 100); err != nil || len(rest) != 1 ||
			rest[0].Content != found[1].Content {
			t.Errorf("after the first: %+v, %v", rest, err)
		}
		h.wantPicture("not examined", h.ann, "/home/ann", lake.ID, nil)
		photo := &files.Picture{Width: 4032, Height: 3024, Orientation: 6, TakenAt: 1_700_000_000_123,
			ThumbHash: []byte{1, 2, 250}}
		h.examine(photo)
		h.wantPicture("examined", h.ann, "/home/ann", lake.ID, photo)

		h.picture(h.ann, "/home/ann/sea.png", "another sea")
		if found := h.unexamined(); len(found) != 1 || found[0].Size != 11 {
			t.Errorf("after a replacement: %+v", found)
		}
		h.wantPicture("replaced", h.ann, "/home/ann", sea.ID, nil)
		h.examine(nil)
		h.wantPicture("not a picture", h.ann, "/home/ann", sea.ID, nil)

		for original, name := range map[string]vpath.Name{lake.ID: "copy.jpg", sea.ID: "copy.png"} {
			_, err := h.tree.Copy(t.Context(), h.ann, original, mustParsePath("/home/ann"), &name)
			h.must(err)
		}
		h.wantPicture("copied", h.ann, "/home/ann", h.idAtPath("/home/ann/copy.jpg"), photo)
		if found := h.unexamined(); len(found) != 0 {
			t.Errorf("after all: %+v", found)
		}
	})
}

// Everything that gives a file the content of an examined picture gives it the time and the
// proportions of that picture: a copy, also of a folder by a job, a copy from an earlier time, a
// copy or move over another file, and a restored version.
func TestCopiedPictureIsExamined(t *testing.T) {
	eachHistoryFixture(t, func(t *testing.T, w *storesFixture) {
		july := time.Date(2025, 7, 4, 0, 0, 0, 0, time.UTC)
		want := func(what, months string) {
			t.Helper()
			if found := w.unexamined(); len(found) != 0 {
				t.Errorf("%s: %d pictures are to be examined", what, len(found))
			}
			found, err := w.tree.Timeline(t.Context(), w.ann, ownMedia)
			if w.must(err); fmt.Sprint(found) != months {
				t.Errorf("%s: the timeline is %v, want %s", what, found, months)
			}
		}
		lake := w.takenPicture(w.ann, "/home/ann/in/lake.jpg", "lake", july, 3, 2)
		w.takenPicture(w.ann, "/home/ann/in/deep/sea.jpg", "sea", july.AddDate(0, 1, 0), 2, 1)
		w.mustUpload(w.ann, "/home/ann/in/notes.txt", "notes")
		want("at first", "[{2025-08 [200]} {2025-07 [150]}]")
		_, err := w.requestCopy(w.ann, w.idAtPath("/home/ann/in"), "/home/ann", "copy")
		w.must(err)
		want("a folder", "[{2025-08 [200 200]} {2025-07 [150 150]}]")
		w.tree.SetCopyBatchSize(2)
		j, err := w.requestCopy(w.ann, w.idAtPath("/home/ann/in"), "/home/ann", "large")
		if w.must(err); j.Status != "pending" {
			t.Fatalf("the copy is no job: %+v", j)
		}
		w.runJobs()
		want("a large folder", "[{2025-08 [200 200 200]} {2025-07 [150 150 150]}]")

		w.advance(time.Hour)
		then := w.clock()
		w.advance(time.Hour)
		w.replace(w.ann, "/home/ann/in/lake.jpg", "no picture")
		want("a text in place of a picture", "[{2025-08 [200 200 200]} {2025-07 [150 150]}]")
		w.wantCopyPast("from an earlier time", w.ann, lake.ID, then, "/home/ann", "/home/ann/lake.jpg")
		want("from an earlier time", "[{2025-08 [200 200 200]} {2025-07 [150 150 150]}]")
		_, err = w.tree.RestoreVersion(t.Context(), w.ann, lake.ID, w.versions(w.ann, lake.ID)[0].Until)
		w.must(err)
		want("a version", "[{2025-08 [200 200 200]} {2025-07 [150 150 150 150]}]")

		_, err = w.tree.CopyWithOptions(t.Context(), w.ann, w.idAtPath("/home/ann/in/deep/sea.jpg"),
			mustParsePath("/home/ann"), "lake.jpg", files.CopyMoveOptions{Replace: true})
		w.must(err)
		want("a copy over a picture", "[{2025-08 [200 200 200 200]} {2025-07 [150 150 150]}]")
		w.must(w.moveTo(w.ann, "/home/ann/in/lake.jpg", "/home/ann/lake.jpg", true))
		want("a move over a picture", "[{2025-08 [200 200 200]} {2025-07 [150 150 150]}]")
	})
}

// The result of an examination does not apply to a content that replaced the examined one.
func TestExaminedContentWasReplaced(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		lake := h.picture(h.ann, "/home/ann/lake.jpg", "lake")
		before := h.unexamined()
		h.picture(h.ann, "/home/ann/lake.jpg", "another lake")
		h.must(h.tree.RecordExamined(t.Context(), []files.ExaminedPicture{{UnexaminedPicture: before[0],
			Picture: &files.Picture{Width: 1, Height: 1, Orientation: 1}}}))
		h.wantPicture("replaced meanwhile", h.ann, "/home/ann", lake.ID, nil)
		if n := h.examine(&files.Picture{Width: 2, Height: 1, Orientation: 1}); n != 1 {
			t.Errorf("%d pictures are to be examined, want 1", n)
		}
		h.wantPicture("examined again", h.ann, "/home/ann", lake.ID, &files.Picture{Width: 2, Height: 1, Orientation: 1})
	})
}

// An account that may list a picture but may not download it does not get the picture's properties.
func TestPictureOfAFileThatCannotBeDownloaded(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		sea := h.picture(h.admin, "/public/sea.jpg", "sea")
		photo := &files.Picture{Width: 3, Height: 2, Orientation: 1, ThumbHash: []byte{1}}
		h.examine(photo)
		h.wantPicture("with the right", h.bob, "/public", sea.ID, photo)
		h.addRule(access.Rule{Pattern: "/public/**", Effect: access.Deny, Role: access.User, Priority: 9,
			Permissions: access.Set(access.Download)})
		h.wantPicture("without the right", h.bob, "/public", sea.ID, nil)
		h.wantPicture("the owner", h.admin, "/public", sea.ID, photo)
	})
}

// The properties of a content are deleted after its last file, and not before.
func TestSweepPictures(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		count := func() (n int) {
			h.must(h.db.Read(t.Context()).QueryRow("SELECT COUNT(*) FROM pictures").Scan(&n))
			return n
		}
		sweep := func() {
			next, err := h.tree.SweepPictures(t.Context(), "")
			h.must(err)
			if next != "" {
				next, err = h.tree.SweepPictures(t.Context(), next)
				h.must(err)
			}
			if next != "" {
				t.Errorf("the sweep continues at %q", next)
			}
		}
		h.picture(h.ann, "/home/ann/lake.jpg", "lake")
		sea := h.picture(h.ann, "/home/ann/sea.jpg", "sea")
		h.examine(&files.Picture{Width: 3, Height: 2, Orientation: 1})
		sweep()
		if n := count(); n != 2 {
			t.Errorf("%d contents have properties, want 2", n)
		}
		_, _, err := h.tree.Delete(t.Context(), h.ann, sea.ID)
		h.must(err)
		h.collect()
		sweep()
		if n := count(); n != 1 {
			t.Errorf("%d contents have properties after a deletion, want 1", n)
		}
	})
}

// onceObject is an object of a store whose reads may fail.
type onceObject struct {
	io.Reader
	io.Seeker
	io.Closer
	size int64
}

func (o onceObject) Size() int64 { return o.size }

// A picture that is fetched once is fetched again only after a fetch that failed or was too short.
func TestPictureIsFetchedOnce(t *testing.T) {
	t.Parallel()
	broken := errors.New("the connection broke")
	bodies := []io.Reader{iotest.ErrReader(broken), bytes.NewReader([]byte("pic")), bytes.NewReader([]byte("picture"))}
	fetches := 0
	open := files.OpenOnce(func(context.Context) (blob.Object, error) {
		fetches++
		return onceObject{Reader: bodies[fetches-1], Closer: io.NopCloser(nil), size: 7}, nil
	})
	for _, want := range []error{broken, io.ErrUnexpectedEOF} {
		if _, err := open(t.Context()); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	for range 2 {
		o, err := open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if content, err := io.ReadAll(o); err != nil || string(content) != "picture" || o.Size() != 7 {
			t.Errorf("%q of %d bytes, %v", content, o.Size(), err)
		}
	}
	if fetches != 3 {
		t.Errorf("%d fetches, want 3", fetches)
	}
}
