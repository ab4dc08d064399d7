package e2e

import (
	"crypto/rand"
	"encoding/base64"
	"os"
	"regexp"
	"strings"
	"testing"

	"larder/internal/config"
)

// kubernetesSetting is a line of the secret or of the environment of the container.
var kubernetesSetting = regexp.MustCompile(
	`(?m)^ +(?:- \{name: )?(LARDER_\w+)(?::|, value:) "?([^"}#\n]*?)"?\}?(?: +#.*)?$`)

// Larder accepts the settings of the manifest for Kubernetes, with a secret key.
func TestKubernetesSettings(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../deploy/kubernetes.yml")
	if err != nil {
		t.Fatal(err)
	}
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		t.Fatal(err)
	}
	var environ []string
	for _, m := range kubernetesSetting.FindAllStringSubmatch(string(text), -1) {
		if m[1] == "LARDER_SECRET_KEY" {
			m[2] = base64.StdEncoding.EncodeToString(key)
		}
		environ = append(environ, m[1]+"="+m[2])
	}
	if n := strings.Count(string(text), "LARDER_"); n != len(environ) || n < 8 {
		t.Errorf("%d of %d settings were found: %q", len(environ), n, environ)
	}
	c, err := config.Load(nil, environ)
	if err != nil {
		t.Fatal(err)
	}
	if !c.Postgres() || c.RedisURL == "" || c.BaseURL != "https://files.example.org" || c.ObjectDir != "/objects" ||
		c.OpsListen != "0.0.0.0:9100" {
		t.Errorf("the settings are %+v", c)
	}
}
