package s3

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"larder/internal/blob"
	"larder/internal/blob/blobtest"
)

const hex32 = "0123456789abcdef0123456789abcdef"

// foreign are names of others' objects, and names that resemble keys.
var foreign = []string{
	"readme.txt", "photos/2024/café & <tea>.jpg", "100%/a+b c.txt", "a%2Fb", "tab\there", "quote\"'`", "emoji-🦊",
	"a?b#c", "~/.bashrc",
	"ab/" + hex32[1:] + "%30", "ab/" + hex32 + ".JPG", "AB/" + hex32, "abc/" + hex32, "ab/" + hex32 + "/x",
	"cd/" + strings.ToUpper(hex32), hex32,
	"other/ab/" + hex32 + ".png", "team2/ab/" + hex32, "team/x/ab/" + hex32, "team/ab/" + hex32 + ".tar.gz", "teamwork",
	checkName + hex32 + "0",
}

// putNames creates an object with each name, bypassing the store.
func putNames(t *testing.T, s *Store, names []string) {
	t.Helper()
	for _, name := range names {
		if _, err := s.client.PutObject(t.Context(),
			&sdk.PutObjectInput{Bucket: &s.bucket, Key: &name, Body: strings.NewReader("x")}); err != nil {
			t.Fatalf("%q: %v", name, err)
		}
	}
}

func TestWalkSeesItsOwn(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"", "team", "team/x"} {
		for _, page := range []int32{0, 1, 3} {
			t.Run(fmt.Sprintf("%s_%d", prefix, page), func(t *testing.T) {
				t.Parallel()
				opts := newBucket(t)
				opts.Prefix = prefix
				s := open(t, opts)
				if page > 0 {
					s.pageSize = &page
				}
				none := slices.DeleteFunc(slices.Clone(foreign), func(name string) bool { return s.isKey(name) })
				putNames(t, s, none)
				want := map[blob.Key]int64{}
				for i := range 5 {
					key := blob.Key(s.prefix) + blobtest.NewKey()
					body := strings.Repeat("x", i)
					if _, err := s.Put(t.Context(), key, strings.NewReader(body),
						blob.PutOptions{Size: int64(i)}); err != nil {
						t.Fatal(err)
					}
					want[key] = int64(i)
				}
				if err := s.Check(t.Context()); err != nil {
					t.Fatal(err)
				}
				got := map[blob.Key]int64{}
				err := s.Walk(t.Context(), func(key blob.Key, size int64, written time.Time) error {
					got[key] = size
					if age := time.Since(written); age > time.Hour || age < -time.Hour {
						t.Errorf("%s was written at %v", key, written)
					}
					return nil
				})
				if err != nil || !maps.Equal(got, want) {
					t.Errorf("Walk = %v, saw %v, want %v", err, got, want)
				}
			})
		}
	}
}

func TestWalkEndsWithTheErrorOfItsCaller(t *testing.T) {
	t.Parallel()
	s, p, _ := newFaultyStore(t)
	if err := put(t, s, blobtest.NewKey()); err != nil {
		t.Fatal(err)
	}
	mine := errors.New("mine")
	if err := s.Walk(t.Context(), func(blob.Key, int64, time.Time) error { return mine }); err != mine {
		t.Errorf("Walk = %v", err)
	}
	never := func(blob.Key, int64, time.Time) error {
		t.Error("called")
		return nil
	}
	for _, fault := range []faultFunc{loseRequest, answerWith(503, "SlowDown"), answerWith(404, "NoSuchBucket"),
		answerWith(403, "AccessDenied"), answerWith(200, "InternalError")} {
		p.inject("GET list", slices.Repeat([]faultFunc{fault}, maxAttempts)...)
		if err := s.Walk(t.Context(), never); !errors.Is(err, blob.ErrUnavailable) || errors.Is(err, blob.ErrNotFound) {
			t.Errorf("Walk = %v, want ErrUnavailable", err)
		}
		p.clear()
	}
}

// Sweep removes the store's own unfinished uploads when they are old enough (abuse case C96).
func TestSweep(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"", "team"} {
		for _, page := range []int32{0, 1} {
			t.Run(fmt.Sprintf("%s_%d", prefix, page), func(t *testing.T) {
				t.Parallel()
				opts := newBucket(t)
				opts.Prefix = prefix
				s := open(t, opts)
				if page > 0 {
					s.pageSize = &page
				}
				others := slices.DeleteFunc(slices.Clone(foreign),
					func(name string) bool { return s.isKey(name) || strings.Contains(name, "\t") })
				putNames(t, s, others)
				for _, name := range others {
					if _, err := s.client.CreateMultipartUpload(t.Context(),
						&sdk.CreateMultipartUploadInput{Bucket: &s.bucket, Key: &name}); err != nil {
						t.Fatalf("%q: %v", name, err)
					}
				}
				for _, name := range []string{"ab/" + hex32, "ab/" + hex32 + ".png", "cd/" + hex32} {
					u, err := s.Begin(t.Context(), blob.Key(s.prefix+name), 3, 3, "")
					if err != nil {
						t.Fatal(err)
					}
					if _, err := s.PutPart(t.Context(), u, 1, strings.NewReader("abc")); err != nil {
						t.Fatal(err)
					}
				}
				leftover, kept := s.prefix+checkName+hex32, blob.Key(s.prefix)+blobtest.NewKey()
				putNames(t, s, []string{leftover, string(kept)})

				if n, err := s.Sweep(t.Context(), time.Now().Add(-time.Hour)); n != 0 || err != nil {
					t.Errorf("Sweep of entries older than an hour = %d, %v", n, err)
				}
				if n, err := s.Sweep(t.Context(), time.Now().Add(time.Hour)); n != 4 || err != nil {
					t.Errorf("Sweep of everything = %d, %v, want 4", n, err)
				}
				if got := len(uploads(t, opts)); got != len(others) {
					t.Errorf("%d uploads are left, want the %d of others", got, len(others))
				}
				for _, name := range append(others, string(kept)) {
					if _, _, err := s.statName(t.Context(), &name); err != nil {
						t.Errorf("%q: %v", name, err)
					}
				}
				if _, _, err := s.statName(t.Context(), &leftover); !errors.Is(err, blob.ErrNotFound) {
					t.Errorf("leftover of a check: %v", err)
				}
			})
		}
	}
}

// uploads lists the unfinished uploads of a bucket.
func uploads(t *testing.T, opts Options) (names []string) {
	t.Helper()
	opts.Client = nil
	list, err := open(t, opts).client.ListMultipartUploads(t.Context(),
		&sdk.ListMultipartUploadsInput{Bucket: &opts.Bucket})
	if err != nil {
		t.Fatal(err)
	}
	for _, up := range list.Uploads {
		names = append(names, aws.ToString(up.Key))
	}
	return names
}

func TestSweepOfAServerThatIsAwayOrCannotList(t *testing.T) {
	t.Parallel()
	s, p, _ := newFaultyStore(t)
	p.inject("GET uploads", answerWith(501, "NotImplemented"))
	if n, err := s.Sweep(t.Context(), time.Now()); n != 0 || err != nil {
		t.Errorf("Sweep where uploads cannot be listed = %d, %v", n, err)
	}
	p.inject("GET uploads", slices.Repeat([]faultFunc{answerWith(503, "SlowDown")}, maxAttempts)...)
	if _, err := s.Sweep(t.Context(), time.Now()); !errors.Is(err, blob.ErrUnavailable) {
		t.Errorf("Sweep = %v, want ErrUnavailable", err)
	}
}

// A name is decoded only when the server says that names are encoded, since it may contain a
// percent sign.
func TestListedNames(t *testing.T) {
	t.Parallel()
	name := "ab/0123456789abcdef0123456789abcde%66"
	for encoding, want := range map[types.EncodingType]string{types.EncodingTypeUrl: "ab/" + hex32, "": name} {
		if got, ok := listedName(&name, encoding); !ok || got != want {
			t.Errorf("%q: %q, %t, want %q", encoding, got, ok, want)
		}
	}
	bad := "%zz"
	for _, name := range []*string{nil, &bad} {
		if got, ok := listedName(name, types.EncodingTypeUrl); ok {
			t.Errorf("took %q", got)
		}
	}
}

func TestNamesThatAreOurs(t *testing.T) {
	t.Parallel()
	for prefix, ours := range map[string][]string{
		"":       {"ab/" + hex32, "ab/" + hex32 + ".png"},
		"team":   {"team/ab/" + hex32},
		"team/x": {"team/x/ab/" + hex32},
	} {
		opts := newBucket(t)
		opts.Prefix = prefix
		s := open(t, opts)
		for _, name := range append([]string{"ab/" + hex32, "ab/" + hex32 + ".png", "team/ab/" + hex32}, foreign...) {
			if got := s.isKey(name); got != slices.Contains(ours, name) {
				t.Errorf("%q below prefix %q is ours: %t", name, prefix, got)
			}
		}
	}
}
