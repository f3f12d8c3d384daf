// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"rocketmq-go/auth/plain"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/config"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// The access rules of 4.x, served when aclEnable was on at the start, whatever compatVersion is:
//
//	50 UPDATE_AND_CREATE_ACL_CONFIG       make or change an account; failures 209
//	51 DELETE_ACL_CONFIG                  failures 210
//	52 GET_BROKER_CLUSTER_ACL_INFO        the data versions of the files
//	53 UPDATE_GLOBAL_WHITE_ADDRS_CONFIG   failures 211
//	54 GET_BROKER_CLUSTER_ACL_CONFIG      all accounts, with their secret keys
type plainRules struct {
	config func() *config.BrokerValues
	files  *plain.Files
	// address is where the broker is, for the connection of a request.
	address func(remoting.Channel) string
}

func (s *Services) plainRoutes() []remoting.Route {
	p := &plainRules{
		config: s.Config.Load, files: s.Plain, address: func(ch remoting.Channel) string { return s.StoreHost(ch).String() },
	}
	return []remoting.Route{
		pooled(protocol.ReqUpdateAndCreateAclConfig, p.putAccount),
		pooled(protocol.ReqDeleteAclConfig, p.deleteAccount),
		pooled(protocol.ReqGetBrokerClusterAclInfo, p.versions),
		pooled(protocol.ReqUpdateGlobalWhiteAddrsConfig, p.setWhite),
		pooled(protocol.ReqGetBrokerClusterAclConfig, p.all),
	}
}

func (p *plainRules) putAccount(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.CreateAccessConfigRequestHeader](r)
	if err != nil {
		return nil, err
	}
	return &protocol.Response{}, p.files.PutAccount(h)
}

func (p *plainRules) deleteAccount(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.DeleteAccessConfigRequestHeader](r)
	if err != nil {
		return nil, err
	}
	return &protocol.Response{}, p.files.DeleteAccount(h.AccessKey)
}

func (p *plainRules) setWhite(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.UpdateGlobalWhiteAddrsConfigRequestHeader](r)
	if err != nil {
		return nil, err
	}
	return &protocol.Response{}, p.files.SetWhite(h.GlobalWhiteAddrs, h.AclFileFullPath.V)
}

func (p *plainRules) versions(r *remoting.Request) (*protocol.Response, error) {
	v := p.config()
	of, all := p.files.Versions()
	json := func(v any) protocol.Opt[string] {
		return protocol.Some(string(fastjson.Options{Omit: "v5"}.Marshal(v)))
	}
	return &protocol.Response{Header: &protocol.GetBrokerAclConfigResponseHeader{
		Version: json(&of), AllAclFileVersion: json(&all),
		BrokerName: protocol.Some(v.BrokerName), BrokerAddr: protocol.Some(p.address(r.Channel)), ClusterName: protocol.Some(v.BrokerClusterName),
	}}, nil
}

func (p *plainRules) all(*remoting.Request) (*protocol.Response, error) {
	return answerJSON(p.files.Config()), nil
}
