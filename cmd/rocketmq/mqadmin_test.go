// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// checkMQAdmin runs the script mqadmin of a folder as operators do, with the name server in the environment.
func checkMQAdmin(t *testing.T, dir string) {
	t.Helper()
	for _, x := range []struct {
		args           string
		code           int
		stdout, stderr string
	}{
		{"wait -t TBW102", exitOK, "ready after", ""},
		{"clusterList", exitOK, "DefaultCluster          ", ""},
		{"updateTopic -c DefaultCluster -t T", exitOK, "create topic to 127.0.0.1:", ""},
		{"topicRoute -t T", exitOK, `"readQueueNums":8`, ""},
		{"topicRoute -t NoSuchTopic", exitFailed, "", "CODE: 17  DESC: No topic route info in name server for the topic: NoSuchTopic"},
		{"topicRoute", exitUsage, "usage: mqadmin topicRoute", "Missing required option: t"},
		{"noSuchCommand", exitUsage, "The sub command noSuchCommand not exist.", ""},
	} {
		cmd := exec.Command("sh", append([]string{filepath.Join(dir, "mqadmin")}, strings.Fields(x.args)...)...)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		code := 0
		var failed *exec.ExitError
		if err := cmd.Run(); errors.As(err, &failed) {
			code = failed.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if code != x.code || !strings.Contains(stdout.String(), x.stdout) || !strings.Contains(stderr.String(), x.stderr) {
			t.Errorf("mqadmin %s: exit %d\n%s\n%s", x.args, code, &stdout, &stderr)
		}
	}
}
