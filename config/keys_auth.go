// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

// AuthConfig holds the keys of the access control of 5.x.
type AuthConfig struct {
	// = brokerName, set by launcher.
	ConfigName string `def:"null" v4:"!"`
	// = brokerClusterName, set by launcher.
	ClusterName string `def:"null" v4:"!"`
	// The launcher overwrites it with storePathRootDir/config whatever the file says (read in source 5.3.3)
	AuthConfigPath string `def:"null" v4:"!" mark:"p"`
	// 5.x access control on.
	AuthenticationEnabled  bool   `def:"false" v4:"!"`
	AuthenticationProvider string `def:"null" v4:"!" none:"Java class; only the default is sensible: DefaultAuthenticationProvider. Accept any value, use own implementation" mark:"p"`
	// Java class; must be set (LocalAuthenticationMetadataProvider) for the user commands, otherwise they answer The
	// authenticationMetadataProvider is not configured.
	AuthenticationMetadataProvider string `def:"null" v4:"!" mark:"p"`
	AuthenticationStrategy         string `def:"null" v4:"!" none:"Stateless (default) or Stateful"`
	// Comma-separated request codes that need no credentials.
	AuthenticationWhitelist string `def:"null" v4:"!"`
	// JSON {"username":"…","password":"…"}: super user created at start if missing.
	InitAuthenticationUser string `def:"null" v4:"!"`
	// JSON {"accessKey":"…","secretKey":"…"} used by the broker's own clients.
	InnerClientAuthenticationCredentials string `def:"null" v4:"!"`
	AuthorizationEnabled                 bool   `def:"false" v4:"!"`
	AuthorizationProvider                string `def:"null" v4:"!" none:"Java class" mark:"p"`
	// As above for the acl commands.
	AuthorizationMetadataProvider string `def:"null" v4:"!" mark:"p"`
	AuthorizationStrategy         string `def:"null" v4:"!" none:"internal tuning of the Java server"`
	// Comma-separated request codes.
	AuthorizationWhitelist string `def:"null" v4:"!"`
	// Read conf/plain_acl.yml and conf/acl/*.yml once at start and create users and acls from them.
	MigrateAuthFromV1Enabled                 bool `def:"false" v4:"!"`
	UserCacheMaxNum                          int  `def:"1000" v4:"!" none:"size and lifetime of a cache"`
	UserCacheExpiredSecond                   int  `def:"600" v4:"!" none:"size and lifetime of a cache"`
	UserCacheRefreshSecond                   int  `def:"60" v4:"!" none:"size and lifetime of a cache"`
	AclCacheMaxNum                           int  `def:"1000" v4:"!" none:"size and lifetime of a cache"`
	AclCacheExpiredSecond                    int  `def:"600" v4:"!" none:"size and lifetime of a cache"`
	AclCacheRefreshSecond                    int  `def:"60" v4:"!" none:"size and lifetime of a cache"`
	StatefulAuthenticationCacheMaxNum        int  `def:"10000" v4:"!" none:"size and lifetime of a cache"`
	StatefulAuthenticationCacheExpiredSecond int  `def:"60" v4:"!" none:"size and lifetime of a cache"`
	StatefulAuthorizationCacheMaxNum         int  `def:"10000" v4:"!" none:"size and lifetime of a cache"`
	StatefulAuthorizationCacheExpiredSecond  int  `def:"60" v4:"!" none:"size and lifetime of a cache"`
}
