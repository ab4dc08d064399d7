package s3test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
)

func TestProxyChangesNothingUnasked(t *testing.T) {
	t.Parallel()
	b := New(t)
	p := NewProxy(t, b)
	name, body := "a key/with?odd#characters", strings.Repeat("0123456789", 1000)
	through, past := p.Bucket().SDK(t), b.SDK(t)
	if _, err := through.PutObject(t.Context(),
		&sdk.PutObjectInput{Bucket: &b.Name, Key: &name, Body: strings.NewReader(body)}); err != nil {
		t.Fatal(err)
	}
	for _, client := range []*sdk.Client{through, past} {
		got, err := client.GetObject(t.Context(), &sdk.GetObjectInput{Bucket: &b.Name, Key: &name})
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(got.Body)
		got.Body.Close()
		if err != nil || string(content) != body {
			t.Errorf("read %d bytes, %v", len(content), err)
		}
	}
	if n := p.Injected(); n != 0 {
		t.Errorf("faults were injected into %d calls", n)
	}
	if calls := p.Calls(); len(calls) != 2 || calls[0] != Put || calls[1] != Get {
		t.Errorf("calls: %q", calls)
	}
}

func TestProxyRefusesWhileDown(t *testing.T) {
	t.Parallel()
	p := NewProxy(t, New(t))
	p.Down()
	p.Down()
	if _, err := ask(t, p.Endpoint); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("while down: %v", err)
	}
	p.Restore()
	if _, err := ask(t, p.Endpoint); err != nil {
		t.Errorf("healed: %v", err)
	}
	p.InjectFault(Internal, Any, 1)
	p.InjectFault(Refused, Any, Always)
	if status, err := ask(t, p.Endpoint); status != 500 || err != nil {
		t.Errorf("%d, %v, want 500", status, err)
	}
	for range 3 {
		if _, err := ask(t, p.Endpoint); err == nil {
			t.Error("answered")
		}
	}
	p.Restore()
	if _, err := ask(t, p.Endpoint); err != nil {
		t.Errorf("healed: %v", err)
	}
}

func TestProxyHooks(t *testing.T) {
	t.Parallel()
	p := NewProxy(t, New(t))
	p.SetBefore(func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusTeapot)
		return true
	})
	p.SetAfter(func(*http.Response) { t.Error("called for a call that was not forwarded") })
	if status, err := ask(t, p.Endpoint); status != http.StatusTeapot || err != nil {
		t.Errorf("answered by the hook: %d, %v", status, err)
	}
	p.SetBefore(func(http.ResponseWriter, *http.Request) bool { return false })
	p.SetAfter(func(answer *http.Response) { answer.StatusCode = http.StatusGone })
	if status, err := ask(t, p.Endpoint); status != http.StatusGone || err != nil {
		t.Errorf("changed by the hook: %d, %v", status, err)
	}
	p.WaitIdle()
}

func ask(t *testing.T, address string) (int, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, bytes.NewReader(nil))
	if err != nil {
		t.Fatal(err)
	}
	client := Egress().Client()
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}
