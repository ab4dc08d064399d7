package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// compareReplicas runs W10: the same requests to one process, and to two processes that get them in
// turn, as from a balancer. Both services have their own database on the same PostgreSQL, their own
// part of the same bucket, and the same Redis. CPU times are those of the Larder processes. Each
// process gets 8 requests at once. Two more rows show how much a process spends on a request when
// it gets 4 at once: two processes, and one as a control.
func (b *bench) compareReplicas(ctx context.Context) error {
	store, err := startBucket(ctx, filepath.Join(b.dir, "replicas-bucket"))
	if err != nil {
		return err
	}
	defer store.stop()
	redis, address, err := b.startRedis(ctx)
	if err != nil {
		return err
	}
	defer redis.stop()
	one, err := b.startReplicas(ctx, "one", 1, store, address)
	defer one.servers.stop()
	if err != nil {
		return err
	}
	two, err := b.startReplicas(ctx, "two", 2, store, address)
	defer two.servers.stop()
	if err != nil {
		return err
	}
	read := func(way func(addresses) request) func(*replicated) func(int) request {
		return func(s *replicated) func(int) request { return same(way(s.ways)) }
	}
	public := read(func(a addresses) request { return a.publicPath })
	serial := 0 // makes names unique
	upload := func(s *replicated) func(int) request { return smallUpload(s.token, serial) }
	const each = 2 * smallConnections // of two processes, each as busy as one alone
	for round := range b.rounds {
		fmt.Fprintf(os.Stderr, "W10, round %d of %d\n", round+1, b.rounds)
		if err := errors.Join(one.analyze(ctx), two.analyze(ctx)); err != nil {
			return err
		}
		for _, step := range []struct {
			name              string
			side              *replicated
			workers, requests int // workers is the number of requests at once to side
			make              func(s *replicated) func(i int) request
		}{
			{"GET 20 KB, public path", two, each, b.reads, public},
			{"GET 20 KB, permanent link", two, each, b.reads,
				read(func(a addresses) request { return a.permanentLink })},
			{"GET 20 KB, session", two, each, b.reads, read(func(a addresses) request { return a.withSession })},
			{"GET 20 KB, API key", two, each, b.reads, read(func(a addresses) request { return a.withKey })},
			{"upload of 20 KB", two, each, b.uploads, upload},
			{"GET 20 KB, public path, 4 at once to each of two", two, smallConnections, b.reads, public},
			{"GET 20 KB, public path, 4 at once to one process", one, smallConnections / 2, b.reads, public},
		} {
			serial++
			p := pairIn(&b.replicaPairs, pair{id: "W10", name: step.name})
			if step.side == two && step.workers == each {
				p.cpuGoal = 1.15
			}
			there, err := runOn(ctx, one.servers, smallConnections, step.requests, step.make(one))
			if err != nil {
				return fmt.Errorf("%s, compared with: %w", p.name, err)
			}
			serial++
			here, err := runOn(ctx, step.side.servers, step.workers, step.requests, step.make(step.side))
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			fmt.Fprintf(os.Stderr, "  W10 %s: CPU %v against %v: %.2f×\n", p.name, here.cpuPerRequest(),
				there.cpuPerRequest(), float64(here.cpu)/float64(max(1, there.cpu)))
			p.reference, p.larder = append(p.reference, there), append(p.larder, here)
		}
	}
	return nil
}

// replicated is a service of one process or more.
type replicated struct {
	site    *installation
	servers fleet
	token   string    // API key of the administrator
	ways    addresses // of the small file
}

// startReplicas starts a service of that many processes, whose objects are all in the bucket below
// a prefix with its name, and uploads the small file. redis is the address of the Redis server. It
// returns the started processes with an error that comes after them.
func (b *bench) startReplicas(ctx context.Context, name string, number int, store *bucket, redis string) (
	s *replicated, err error) {
	s = &replicated{}
	if s.site, err = b.newInstallation(ctx, name); err != nil {
		return s, err
	}
	site := s.site
	site.settings = []string{"LARDER_REDIS_URL=" + redis, "LARDER_OBJECT_DIR=" + filepath.Join(site.dir, "objects")}
	for i := range number {
		replica := *site
		if i > 0 {
			replica.dir += fmt.Sprint("-", i)
		}
		p, err := replica.start(ctx)
		if err != nil {
			return s, err
		}
		s.servers = append(s.servers, p)
	}
	first := s.servers[0]
	c, _, err := site.login(ctx, first)
	if err != nil {
		return s, err
	}
	provider, err := store.addTo(ctx, c, name)
	if err != nil {
		return s, err
	}
	var list struct{ Mounts []struct{ ID string } }
	if err := c.call(ctx, "GET", "/api/admin/mounts", nil, &list); err != nil {
		return s, err
	}
	if len(list.Mounts) != 1 {
		return s, fmt.Errorf("%d mounts, want 1", len(list.Mounts))
	}
	if err := c.call(ctx, "PUT", "/api/admin/mounts/"+list.Mounts[0].ID, map[string]string{"providerId": provider},
		nil); err != nil {
		return s, err
	}
	if s.token, err = site.key(ctx, "admin"); err != nil {
		return s, err
	}
	s.ways, err = site.uploadSmallFile(ctx, first, s.token)
	return s, err
}

// analyze gathers the statistics of the database, whose tables the uploads of a round have grown,
// so that a change of plans does not fall into the requests of one service.
func (s *replicated) analyze(ctx context.Context) error {
	d, err := s.site.seeder(ctx)
	if err != nil {
		return err
	}
	return errors.Join(d.analyze(), d.close())
}

// startRedis runs a Redis server that keeps nothing on the disk, and returns its address in the
// form of LARDER_REDIS_URL. The caller stops it.
func (b *bench) startRedis(ctx context.Context) (s *server, address string, err error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, "", errors.New("no redis-server here; scripts/install-test-tools installs it")
	}
	socket := filepath.Join(b.dir, "redis.sock")
	s = &server{cmd: exec.CommandContext(ctx, program, "--port", "0", "--unixsocket", socket, "--dir", b.dir, "--save",
		"", "--appendonly", "no")}
	if err := s.cmd.Start(); err != nil {
		return nil, "", err
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline) &&
		ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(socket); err == nil {
			return s, "unix://" + socket, nil
		}
	}
	s.stop()
	return nil, "", errors.New("redis-server does not start")
}
