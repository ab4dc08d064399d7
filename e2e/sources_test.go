package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/blob/s3/s3test"
)

// The web UI lists the account's tree, the guests' tree, a share, a free-mode bucket and the
// administration's view through one interface: web/test/sources.contract.ts reads the same content
// from each of them.
func TestSources(t *testing.T) {
	t.Parallel()
	const many = 1100 // more than a page of the bucket
	site := newSite(t)
	site.set("LARDER_FREE_MODE_ALLOW_PRIVATE_ENDPOINTS", "127.0.0.0/8")
	p := site.start(t)
	admin, bucket := p.admin(t), s3test.New(t)
	keyed := withKey(admin.createKey(t, object{"name": "tales", "permissions": []string{"write"},
		"protocols": []string{"api"}, "uploadPath": "/"}), p.url)
	folder := admin.mkdir(t, "/public", "tales")
	objects := map[string][]byte{}
	for n := range many {
		objects[fmt.Sprintf("many/%04d", n)] = []byte("x")
	}
	for _, name := range []string{"tale-east", "tale-west"} {
		admin.mkdir(t, "/public/tales", name)
		objects["tales/"+name+"/kept"] = nil
	}
	contents := map[string][]byte{"tale-photo.jpg": photograph(t)}
	for n := 1; n <= 4; n++ {
		name := fmt.Sprintf("tale-%d.txt", n)
		contents[name] = []byte(strings.Repeat(name, n))
	}
	for name, content := range contents {
		mime := "text/plain"
		if strings.HasSuffix(name, ".jpg") {
			mime = "image/jpeg"
		}
		keyed.mustRaw(t, name, "/public/tales", mime, content)
		objects["tales/"+name] = content
	}
	putAll(t, bucket, objects)
	stage, err := json.Marshal(object{
		"base": p.url, "username": "admin", "password": adminPassword, "folder": "/public/tales",
		"share": admin.share(t, object{"fileId": folder}),
		"bucket": object{"type": "store_b", "endpoint": bucket.Endpoint, "bucket": bucket.Name,
			"accessKeyId": bucket.AccessKey, "secretAccessKey": bucket.SecretKey},
		"many": object{"path": "/many", "files": many},
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node_modules/.bin/vitest", "run", "--mode", "contract")
	cmd.Dir = "../web"
	cmd.Env = append(os.Environ(), "LARDER_SOURCES="+string(stage), "NO_COLOR=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("vitest: %v\n%s", err, tail(string(out), 8000))
	}
}

// putAll writes objects into a bucket.
func putAll(t *testing.T, bucket s3test.Bucket, objects map[string][]byte) {
	t.Helper()
	store, keys := bucket.SDK(t), make(chan string)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for key := range keys {
				if _, err := store.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket.Name, Key: &key,
					Body: bytes.NewReader(objects[key])}); err != nil {
					t.Errorf("put %s: %v", key, err)
				}
			}
		})
	}
	for key := range objects {
		keys <- key
	}
	close(keys)
	group.Wait()
}
