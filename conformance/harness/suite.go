// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// suite is the command line of a client's program, without the arguments that depend on the cluster.
type suite struct {
	argv []string
}

// suiteFailed means that the suite ran and reported failed cases.
type suiteFailed struct{ err error }

func (e *suiteFailed) Error() string { return "the suite failed: " + e.err.Error() }

var javaClients = map[string]string{"java497": "4.9.7", "java533": "5.3.3"}

// prepareSuite builds the program of a client. The Java one is compiled once per version; the classes stay.
func prepareSuite(ctx context.Context, s settings, client string) (suite, error) {
	if client == "go" {
		binary := filepath.Join(s.root, "build", "conformance", "goclient")
		dir := filepath.Join(s.root, "conformance", "goclient")
		return suite{argv: []string{binary}}, build(ctx, dir, "go", "build", "-o", binary, ".")
	}
	version, ok := javaClients[client]
	if !ok {
		return suite{}, fmt.Errorf("unknown client %q (go, java497, java533)", client)
	}
	return javaSuite(ctx, s, "javaclient", version, "rocketmqgo.conformance.Main")
}

// javaSuite compiles the program in a folder of conformance for one version of Apache's libraries.
func javaSuite(ctx context.Context, s settings, folder, version, main string) (suite, error) {
	dir := filepath.Join(s.root, "conformance", folder)
	target := filepath.Join(dir, "target", version)
	err := build(ctx, dir, "mvn", "-B", "-q", "-Dstyle.color=never", "package", "-Drocketmq.version="+version)
	return suite{argv: slices.Concat([]string{"java"}, javaOptions, []string{
		"-cp", filepath.Join(target, "classes") + ":" + filepath.Join(target, "lib", "*"), main,
	})}, err
}

// javaOptions of the client: a small heap, and a rebalance each second instead of each twentieth.
var javaOptions = []string{
	"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Drocketmq.client.rebalance.waitInterval=1000",
	"--add-opens", "java.base/java.lang=ALL-UNNAMED", "--add-opens", "java.base/java.nio=ALL-UNNAMED",
	"--add-opens", "java.base/sun.nio.ch=ALL-UNNAMED", "--add-opens", "java.base/java.util=ALL-UNNAMED",
}

func build(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s in %s: %w", name, dir, err)
	}
	return nil
}

// run runs the suite against the cluster and returns what it printed.
func (s suite) run(ctx context.Context, c *cluster, args ...string) (string, error) {
	home := filepath.Join(c.work, "client")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return "", err
	}
	argv := slices.Clone(s.argv)
	if argv[0] == "java" {
		argv = slices.Insert(argv, 1, "-Duser.home="+home)
	}
	argv = append(append(argv, "-namesrv", c.namesrv.addr()), args...)
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = home, &out, os.Stderr
	cmd.Env = append(os.Environ(), "HOME="+home)
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		err = &suiteFailed{err}
	}
	return out.String(), err
}
