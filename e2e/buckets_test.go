package e2e

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/blob/s3/s3test"
	"larder/internal/db/dbtest"
)

// A bucket beside the disk: created by an administrator, filled by every way of upload, read by
// every address, with files moved to it and back while links keep working, and empty at the end.
func TestABucketNextToTheDisk(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, engine, onDisk)
			bucket := s3test.New(t)
			// objects at staging keys stay for an hour
			id := s.provider(t, bucket, object{"pathPrefix": "larder", "uploadMode": "worker"})
			s.admin.mount(t, "/cloud", id)
			s.admin.do(t, "DELETE", "/api/admin/storage/providers/"+id, nil).fails(t, 409, "OPERATION_FAILED")
			s.wantNoSecretsInLogs(t, bucket)
			s.admin.do(t, "POST", "/api/admin/rules",
				object{"pathPattern": "/cloud/**", "effect": "allow", "role": "user"}).want(t, 201)
			s.admin.createUser(t, "anna", "a long password", "user")
			anna := login(t, "anna", "a long password", s.admin.bases...)

			folder := anna.mkdir(t, "/cloud", "album")
			parts, picture := contentOf("in parts", partSize+1234), photograph(t)
			contents := map[string][]byte{"one piece.txt": contentOf("whole", 200_000), "parts.bin": parts,
				"raw.jpg": picture, oddName: contentOf("odd", 77)}
			anna.upload(t, "/cloud/album", "one piece.txt", contents["one piece.txt"], nil)
			anna.upload(t, "/cloud/album", oddName, contents[oddName], nil)
			file := anna.upload(t, "/cloud/album", "parts.bin", parts, object{"partCount": 2})
			// below the key's upload root, which is on the disk
			raw := withKey(s.key(t, "anna"), s.admin.bases...).mustRaw(t, "raw.jpg", "", "image/jpeg", picture)
			s.move(t, anna, raw.FileID, "/cloud/album")
			link := at(t, raw.DirectURL)
			stored := keysIn(t, bucket)
			if len(stored) < len(contents) {
				t.Errorf("the bucket holds %v", stored)
			}
			for key := range stored {
				if !strings.HasPrefix(key, "larder/") || strings.Contains(key, "piece") ||
					strings.Contains(key, "album") {
					t.Errorf("an object is called %s", key)
				}
			}

			for _, target := range []string{"/cloud", "/home/anna", "/cloud"} { // where it is, to the disk, and back
				if target != "/cloud" || len(keysIn(t, bucket)) == 0 {
					s.moved(t, anna, folder, target, link, picture)
				}
				if listed := anna.list(t, target+"/album"); len(listed) != len(contents) {
					t.Errorf("%s lists %+v", target, listed)
				}
				for name, content := range contents {
					anna.reads(t, escaped(target+"/album/"+name), content)
				}
				ranges(t, anna, target+"/album/parts.bin", parts)
				gateway := &setup{admin: anna}
				gateway.gateway(t, file, parts)
				if target == "/home/anna" {
					s.awaitEmpty(t, bucket)
				}
			}
			var gone struct{ Deleted, Size int64 }
			anna.do(t, "DELETE", "/api/files/"+folder, nil).data(t, 200, &gone)
			if gone.Deleted != int64(len(contents)+1) {
				t.Errorf("%d rows were deleted", gone.Deleted)
			}
			if used, files := anna.usage(t); used != 0 || files != 0 {
				t.Errorf("%d bytes in %d files are charged although nothing is stored", used, files)
			}
			s.visitor().do(t, "GET", link, nil).fails(t, 404, "NOT_FOUND")
			s.awaitEmpty(t, bucket)
			s.fsck(t)
		})
	}
}

// wantNoSecretsInLogs fails the test when an answer or a log contains the credentials of a bucket.
func (s *setup) wantNoSecretsInLogs(t *testing.T, bucket s3test.Bucket) {
	t.Helper()
	list := s.admin.do(t, "GET", "/api/admin/storage/providers", nil).want(t, 200)
	if bytes.Contains(list.body, []byte(bucket.SecretKey)) || bytes.Contains(list.body, []byte(bucket.AccessKey)) {
		t.Errorf("the list of providers reveals credentials: %s", list.body)
	}
	for _, p := range s.processes {
		if said := p.stderr.String() + p.stdout.String(); strings.Contains(said, bucket.SecretKey) {
			t.Errorf("a log contains a secret: %s", tail(said, 500))
		}
	}
}

// A bucket may hold foreign objects. A thousand of them, under names that are not keys, are neither
// listed nor reported nor removed, and a key that needs escaping works.
func TestABucketWithForeignObjects(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "sqlite", onDisk)
	bucket := s3test.New(t)
	foreign := foreignObjects(t, bucket)
	s.admin.mount(t, "/bare", s.provider(t, bucket, object{"uploadMode": "worker"}))
	// below the names of foreign objects
	s.admin.mount(t, "/cloud", s.provider(t, bucket,
		object{"name": "prefixed", "pathPrefix": "photos", "uploadMode": "worker"}))
	for _, folder := range []string{"/bare", "/cloud"} {
		if listed := s.admin.list(t, folder); len(listed) > 0 {
			t.Errorf("%s lists objects of others: %+v", folder, listed)
		}
		content := contentOf(folder, 1000)
		file := s.admin.upload(t, folder, oddName, content, nil)
		s.admin.upload(t, folder, "parts.bin", contentOf("parts", partSize+1), object{"partCount": 2})
		s.admin.reads(t, escaped(folder+"/"+oddName), content)
		s.admin.do(t, "PUT", "/api/files/"+file.ID, object{"name": "renamed.txt"}).want(t, 200)
		for _, args := range [][]string{{"fsck", "--deep"}, {"fsck", "--repair", "orphans,quota,refs"}} {
			if out, stderr, code := s.run(t, args...); code != 0 || strings.Contains(out+stderr, "photo") {
				t.Errorf("%v: exit code %d\n%s%s", args, code, out, stderr)
			}
		}
		for _, e := range s.admin.list(t, folder) {
			s.admin.do(t, "DELETE", "/api/files/"+e.ID, nil).want(t, 200)
		}
	}
	s.processes[0].await(t, "only foreign objects left", func() bool { return len(keysIn(t, bucket)) <= len(foreign) })
	have := keysIn(t, bucket)
	for key := range foreign {
		if _, there := have[key]; !there {
			t.Errorf("%q is gone", key)
		}
	}
	if len(have) != len(foreign) {
		t.Errorf("%d objects, want the %d of others", len(have), len(foreign))
	}
}

// foreignObjects puts a thousand foreign objects into a bucket, as far as its server accepts their
// names.
func foreignObjects(t *testing.T, bucket s3test.Bucket) map[string]bool {
	t.Helper()
	names := []string{"a b/ü?#%.txt", "photos/a b/ü?#%25+&=.txt", "photos/日本語/ファイル", "ends with space ",
		"quote\"'<>&.xml", "photos/%2e%2e/x", "photos/ab/readme.txt", "photos/x/ab/" + strings.Repeat("ee", 16)}
	for i := len(names); i < 1000; i++ {
		names = append(names, "photos/"+strings.Repeat("x", i%40+1)+"/"+hash([]byte{byte(i), byte(i >> 8)})+".jpg")
	}
	client, todo := bucket.SDK(t), make(chan string, len(names))
	for _, name := range names {
		todo <- name
	}
	close(todo)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for name := range todo {
				if _, err := client.PutObject(t.Context(),
					&s3.PutObjectInput{Bucket: &bucket.Name, Key: &name,
						Body: strings.NewReader("theirs")}); err != nil {
					t.Errorf("%q: %v", name, err)
				}
			}
		})
	}
	all.Wait()
	dots := "../x" // most servers refuse it
	_, _ = client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket.Name, Key: &dots,
		Body: strings.NewReader("theirs")})
	have := map[string]bool{}
	for key := range keysIn(t, bucket) {
		have[key] = true
	}
	if len(have) < len(names) {
		t.Fatalf("%d of %d objects are in the bucket", len(have), len(names))
	}
	return have
}
