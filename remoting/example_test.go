// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package remoting_test

import (
	"context"
	"fmt"
	"net"

	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// A server is a table of codes; a client sends typed headers.
func Example() {
	maxOffset := func(_ context.Context, r *remoting.Request) (*protocol.Response, error) {
		h, err := remoting.ParseHeader[protocol.GetMaxOffsetRequestHeader](r)
		if err != nil {
			return nil, err
		}
		if h.Topic.V != "TopicTest" {
			return nil, protocol.Errorf(protocol.RespTopicNotExist, "topic[%s] not exist", h.Topic.V)
		}
		return &protocol.Response{Header: &protocol.GetMaxOffsetResponseHeader{Offset: protocol.Some[int64](42)}}, nil
	}
	routes := remoting.NewRoutes(remoting.RoutesConfig{}, remoting.Route{Code: protocol.ReqGetMaxOffset, Handle: maxOffset})
	defer routes.Close()
	server := remoting.NewServer(remoting.ServerConfig{Dispatcher: routes, Version: 479})
	defer server.Close()

	client := remoting.NewClient(remoting.ClientConfig{
		Version: 479,
		Dial:    func(context.Context, string) (net.Conn, error) { return server.Pipe(), nil },
	})
	defer client.Close()
	for _, topic := range []string{"TopicTest", "Other"} {
		h := &protocol.GetMaxOffsetRequestHeader{Topic: protocol.Some(topic), QueueID: protocol.Some[int32](0), Committed: true}
		answer, err := client.Call(context.Background(), "broker-a", protocol.NewRequest(protocol.ReqGetMaxOffset, h, nil))
		if err != nil {
			fmt.Println(err)
			return
		}
		var offset protocol.GetMaxOffsetResponseHeader
		_ = offset.ParseFields(&answer.Fields)
		fmt.Printf("%s %d %q\n", protocol.ResponseName(answer.Code), offset.Offset.V, answer.Remark.V)
	}
	// Output:
	// SUCCESS 42 ""
	// TOPIC_NOT_EXIST 0 "topic[Other] not exist"
}
