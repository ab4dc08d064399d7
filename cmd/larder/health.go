package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"larder/internal/config"
)

// errNotReady means that the server does not answer or is not ready. The command has printed the
// reason.
var errNotReady = errors.New("not ready")

// healthTimeout bounds the whole command. Supervisors of containers often allow 30 seconds.
const healthTimeout = 10 * time.Second

// health is the command `larder health`: it sends a request to the readiness probe of the server on
// this machine and prints the answer and the problems in it. It reads the settings of the server,
// and opens neither the database nor the stores. Supervisors of containers call it. Error:
// errNotReady if the server does not answer or is not ready.
func health(ctx context.Context, args, environ []string, out io.Writer) error {
	cfg, words, err := config.LoadCommand(args, environ, nil)
	if err != nil {
		return err
	}
	if len(words) > 0 {
		return fmt.Errorf("larder: health takes no arguments, not %q: %w", words, errUsage)
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	var state struct {
		Ready    bool
		Detail   string
		Warnings []string
	}
	address := "http://" + reachable(cfg.Listen) + "/api/public/health/ready"
	if cfg.OpsListen != "" {
		address = "http://" + reachable(cfg.OpsListen) + "/ready" // names the problems
	}
	if err := askState(ctx, address, &state); err != nil {
		fmt.Fprintf(out, "not ready: %v\n", err)
		return errNotReady
	}
	verdict := "ready"
	if !state.Ready {
		verdict = "not ready"
	}
	if state.Detail != "" {
		verdict += ": " + state.Detail
	}
	fmt.Fprintln(out, verdict)
	for _, warning := range state.Warnings {
		fmt.Fprintln(out, "-", warning)
	}
	if !state.Ready {
		return errNotReady
	}
	return nil
}

// askState sends a GET to an address and decodes the JSON of the answer into state, whatever its
// status is.
func askState(ctx context.Context, address string, state any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{}} // without the proxy of the environment
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(state); err != nil {
		return fmt.Errorf("%s does not answer like Larder: %w", address, err)
	}
	return nil
}

// reachable returns the address at which a client on this machine connects to a listener that is
// bound to listen (host:port). For a listener at all addresses that is localhost.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}
