package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// peer is another server that sends the file of W1 from a directory.
type peer struct {
	name, version string
	server        *server
	request       request
	outcomes      []outcome
}

// nginxConfig makes nginx serve a directory with one process, whose CPU time is that of nginx. Its
// arguments are the directory of its own files, the address and the directory to serve.
const nginxConfig = `daemon off;
master_process off;
pid %[1]s/pid;
error_log %[1]s/errors.log;
events { worker_connections 512; }
http {
  access_log %[1]s/access.log;
  client_body_temp_path %[1]s;
  proxy_temp_path %[1]s;
  fastcgi_temp_path %[1]s;
  uwsgi_temp_path %[1]s;
  scgi_temp_path %[1]s;
  sendfile on;
  keepalive_requests 1000000;
  server { listen %[2]s; root %[3]s; }
}
`

// comparePeers measures each peer (nginx, caddy, rclone, versitygw) that is installed, beside the
// reference, by reads of the small file in the directory shared. scripts/peers installs all of
// them.
func (b *bench) comparePeers(ctx context.Context, shared string) error {
	peers, err := b.startPeers(ctx, shared)
	defer func() {
		for _, p := range peers {
			p.server.stop()
		}
	}()
	if err != nil {
		return err
	}
	plain := same(request{method: "GET", path: "/f.jpg"})
	for range b.rounds {
		there, err := run(ctx, b.reference, smallConnections, b.reads, plain)
		if err != nil {
			return fmt.Errorf("reference: %w", err)
		}
		b.besidePeers = append(b.besidePeers, there)
		for _, p := range peers {
			here, err := run(ctx, p.server, smallConnections, b.reads, same(p.request))
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			p.outcomes = append(p.outcomes, here)
			fmt.Fprintf(os.Stderr, "  %s: CPU %v against %v\n", p.name, here.cpuPerRequest(), there.cpuPerRequest())
		}
	}
	b.peers = peers
	return nil
}

// startPeers starts the peers that are installed, to serve the directory shared. It returns those
// that run, also with an error.
func (b *bench) startPeers(ctx context.Context, shared string) (peers []*peer, err error) {
	own := filepath.Join(b.dir, "nginx")
	if err := os.MkdirAll(own, 0o700); err != nil {
		return nil, err
	}
	for _, each := range []struct {
		program, versionFlag string
		words                func(address string) ([]string, error)
	}{
		{"nginx", "-v", func(address string) ([]string, error) {
			config := filepath.Join(own, "nginx.conf")
			return []string{"-c", config},
				os.WriteFile(config, fmt.Appendf(nil, nginxConfig, own, address, shared), 0o600)
		}},
		{"caddy", "version", func(address string) ([]string, error) {
			return []string{"file-server", "--root", shared, "--listen", address, "--access-log"}, nil
		}},
		{"rclone", "version", func(address string) ([]string, error) {
			return []string{"serve", "http", shared, "--addr", address}, nil
		}},
	} {
		program, err := exec.LookPath(each.program)
		if err != nil {
			fmt.Fprintf(os.Stderr, "  no %s here; scripts/peers installs it\n", each.program)
			continue
		}
		address, err := freeAddress()
		if err != nil {
			return peers, err
		}
		words, err := each.words(address)
		if err != nil {
			return peers, err
		}
		p := &peer{name: each.program, version: versionOf(program, each.versionFlag),
			request: request{method: "GET", path: "/f.jpg"}, server: &server{address: address}}
		p.server.cmd = exec.CommandContext(ctx, program, words...)
		p.server.cmd.Env = []string{"HOME=" + b.dir, "PATH=" + os.Getenv("PATH")}
		if err := p.server.cmd.Start(); err != nil {
			return peers, fmt.Errorf("start %s: %w", each.program, err)
		}
		peers = append(peers, p)
		if err := p.server.awaitPort(ctx); err != nil {
			return peers, fmt.Errorf("%s: %w", each.program, err)
		}
	}
	gateway, err := b.gatewayPeer(ctx, shared)
	if gateway != nil {
		peers = append(peers, gateway)
	}
	return peers, err
}

// gatewayPeer starts an S3 server (versitygw), which checks the signature of each request, with the
// small file of the directory shared. It returns the peer with an error that comes after the start.
func (b *bench) gatewayPeer(ctx context.Context, shared string) (*peer, error) {
	dir := filepath.Join(b.dir, "peers")
	s, err := startBucket(ctx, dir)
	if err != nil {
		return nil, err
	}
	p := &peer{name: "versitygw", version: "S3, pre-signed", server: &server{cmd: s.cmd, address: s.address}}
	content, err := os.ReadFile(filepath.Join(shared, "f.jpg"))
	if err != nil {
		return p, err
	}
	client := s3.New(s3.Options{
		BaseEndpoint: aws.String("http://" + s.address), Region: "us-east-1", UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(s.access, s.password, ""),
	})
	if _, err := client.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String(bucketName), Key: aws.String("f.jpg"),
		Body: bytes.NewReader(content)}); err != nil {
		return p, err
	}
	signed, err := s3.NewPresignClient(client).PresignGetObject(ctx, &s3.GetObjectInput{Bucket: aws.String(bucketName),
		Key: aws.String("f.jpg")}, s3.WithPresignExpires(time.Hour))
	if err != nil {
		return p, err
	}
	p.request = request{method: "GET", path: strings.TrimPrefix(signed.URL, "http://"+s.address)}
	return p, nil
}

// awaitPort waits up to ten seconds until the server accepts connections.
func (s *server) awaitPort(ctx context.Context) error {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline) &&
		ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("tcp", s.address); err == nil {
			return conn.Close()
		}
	}
	return fmt.Errorf("nothing listens on %s", s.address)
}

// versionOf returns the version that a program prints with that flag, "" for none.
func versionOf(program, flag string) string {
	text, _ := exec.Command(program, flag).CombinedOutput() // without a version the line stays empty
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(strings.NewReplacer("nginx version: nginx/", "", "rclone ", "").Replace(line))
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}

// peersReport returns the Markdown table of the peers, "" without any.
func (b *bench) peersReport() string {
	if len(b.peers) == 0 {
		return ""
	}
	cpu := func(all []outcome) float64 {
		var values []float64
		for _, o := range all {
			values = append(values, float64(o.cpuPerRequest()))
		}
		return median(values)
	}
	there := cpu(b.besidePeers)
	text := "### Other servers\n\nThe file of W1 from the disk, over as many connections. Each logs its requests, " +
		"except versitygw.\n\n| server | version | CPU a request | ratio to the reference |\n" +
		"| --- | --- | ---: | ---: |\n" +
		fmt.Sprintf("| reference | | %s | 1.00× |\n", cpuText(there))
	for _, p := range b.peers {
		here := cpu(p.outcomes)
		text += fmt.Sprintf("| %s | %s | %s | %s |\n", p.name, p.version, cpuText(here), ratio(here, there))
	}
	return text + "\n"
}
