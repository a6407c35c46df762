"""The fake master of clients.py with the routes that a real one does not serve yet, and others for single commands: models, groups, roles, tokens, OAuth clients, policies,
namespaces, the message to all users, and the use of resources."""
import urllib.parse

from support.fake_master import clients
from support.fake_master.clients import CHECKPOINT, Refusal, checkpoint, message, page, user

TIME = "2026-11-21T07:00:00Z"
RAW_CSV = "experiment_id,kind,username,labels,slots,start_time,end_time,seconds\r\n1,experiment,ann,\"a,b\",2,2026-11-21T07:00:00Z,,60.5\r\n"
ALLOCATIONS_CSV = "allocation_id,task_type,username\r\n1.task-1.0,TRIAL,ann\r\n"
SUMMARY_CSV = "date,resource_pool,used_slot_hours,available_slot_hours,idle_share,failed_slot_hours,cost\r\n2026-11-21,default,3,4,0.25,0,\r\n"
AGGREGATED_CSV = "aggregation_type,aggregation_key,date,seconds\r\ntotal,total,2026-11-21,60.5\r\n"


def permission(number, name, **scope):
    return message("rbac.v1.Permission", id=number, name=name, scopeTypeMask=message("rbac.v1.ScopeTypeMask", **scope))


EDIT = permission("PERMISSION_TYPE_UPDATE_EXPERIMENT", "update experiment", cluster=True, workspace=True)
VIEW = permission("PERMISSION_TYPE_VIEW_EXPERIMENT_METADATA", "view experiment", workspace=True)


def role(number, name, permissions):
    return message("rbac.v1.Role", roleId=number, name=name, permissions=permissions, scopeTypeMask=message("rbac.v1.ScopeTypeMask", cluster=True))


EDITOR, VIEWER = role(5, "Editor", [EDIT, VIEW]), role(6, "Viewer", [VIEW])


def assignment(**given):
    return message("rbac.v1.RoleAssignment", role=EDITOR, scopeCluster="scopeWorkspaceId" not in given, **given)


GROUP = message("group.v1.Group", groupId=11, name="students")
GROUP_ROLE = message("rbac.v1.GroupRoleAssignment", groupId=11, roleAssignment=assignment())
USER_ROLE = message("rbac.v1.UserRoleAssignment", userId=2, roleAssignment=assignment(scopeWorkspaceId=1))
EDITOR_WITH = message("rbac.v1.RoleWithAssignments", role=EDITOR, groupRoleAssignments=[GROUP_ROLE], userRoleAssignments=[USER_ROLE])
SUMMARY = message("rbac.v1.RoleAssignmentSummary", roleId=5, scopeWorkspaceIds=[1], scopeCluster=True)


def token(number, **given):
    return message("user.v1.TokenInfo", id=number, userId=2, expiry="2026-12-21T07:00:00Z", createdAt=TIME, tokenType="TOKEN_TYPE_ACCESS_TOKEN",
                   description="nightly", **given)


def model(number, name):
    return message("model.v1.Model", id=number, name=name, description="handwritten", metadata={"kind": "cnn"}, creationTime=TIME, lastUpdatedTime=TIME,
                   workspaceId=1, userId=2, username="determined", numVersions=2)


class Master(clients.Master):
    """`changes` records (what, body) of each request that would change something."""

    def __init__(self, *args, **more):
        self.changes = []
        self.rbac = False  # what the master says of itself; the released client asks before it calls these routes
        self.assigned = True  # whether anybody has a role
        self.sso_providers = None
        self.namespaces = {"": {"workspaceId": 1, "namespace": "vision", "clusterName": "", "autoCreateNamespace": False}}
        super().__init__(*args, **more)

    def get_master(self, match, query, body):
        return super().get_master(match, query, body) | {"rbacEnabled": self.rbac}

    def note(self, what, body):
        self.changes.append((what, body))
        return {}

    def models(self, match, query, body):
        every = [model(1, "digits"), model(2, "letters")]
        offset = int(query.get("offset", ["0"])[0])
        return {"models": every[offset:offset + 1], "pagination": page(2) | {"endIndex": offset + 1}}

    def get_model(self, match, query, body):
        if match[1] not in ("digits", "1"):
            raise Refusal(404, f"model '{match[1]}' not found")
        return {"model": model(1, "digits")}

    def post_model(self, match, query, body):
        self.note("create", body)
        return {"model": model(3, body["name"])}

    def patch_model(self, match, query, body):
        self.note(f"change {match[1]}", body)
        return self.get_model(match, query, body)

    def delete_model(self, match, query, body):
        self.get_model(match, query, body)
        return self.note(f"delete {match[1]}", body)

    def model_version(self, number):
        return message("model.v1.ModelVersion", model=model(1, "digits"), checkpoint=checkpoint(CHECKPOINT, "/nonexistent"), version=number, id=number,
                       creationTime=TIME, lastUpdatedTime=TIME, username="determined", userId=2, metadata={})

    def versions(self, match, query, body):
        every = [self.model_version(2), self.model_version(1)]
        limit = int(query.get("limit", ["0"])[0]) or 2
        return {"model": model(1, "digits"), "modelVersions": every[:limit], "pagination": page(2) | {"endIndex": 2}}

    def get_version(self, match, query, body):
        return {"modelVersion": self.model_version({"production": 1}.get(match[2]) or int(match[2]))}

    def aliases(self, match, query, body):
        return {"aliases": [message("model.v1.ModelAlias", name="production", version=1, userId=2, username="determined", lastUpdatedTime=TIME)]}

    def put_alias(self, match, query, body):
        self.note(f"set {match[2]}", body)
        return {"alias": message("model.v1.ModelAlias", name=match[2], version=body["version"], username="determined", lastUpdatedTime=TIME)}

    def delete_alias(self, match, query, body):
        return self.note(f"remove {match[2]}", body)

    def post_version(self, match, query, body):
        self.note("register", body)
        return {"modelVersion": self.model_version(3)}

    def groups(self, match, query, body):
        found = [{"group": GROUP, "numMembers": 1}] if body.get("name", "students") in ("students", "") else []
        return {"groups": found, "pagination": page(len(found))}

    def group(self):
        return {"group": message("group.v1.GroupDetails", groupId=11, name="students", users=[user(2, "determined")])}

    def get_group(self, match, query, body):
        return self.group()

    def create_group(self, match, query, body):
        self.note("create group", body)
        return {"group": message("group.v1.GroupDetails", groupId=12, name=body["name"], users=[self.users[i - 1] for i in body.get("addUsers") or []])}

    def update_group(self, match, query, body):
        self.note("update group", body)
        return {"group": message("group.v1.GroupDetails", groupId=11, name=body.get("name") or "students")}

    def delete_group(self, match, query, body):
        return self.note("delete group", match[1])

    def roles(self, match, query, body):
        return {"roles": [EDITOR, VIEWER], "pagination": page(2)}

    def roles_by_id(self, match, query, body):
        return {"roles": [EDITOR_WITH]}

    def roles_of_user(self, match, query, body):
        return {"roles": [EDITOR_WITH] if self.assigned else []}

    def roles_of_group(self, match, query, body):
        return {"roles": [EDITOR] if self.assigned else [], "assignments": [SUMMARY] if self.assigned else []}

    def summary(self, match, query, body):
        return {"roles": [EDITOR] if self.assigned else [], "assignments": [SUMMARY] if self.assigned else []}

    def change_roles(self, match, query, body):
        return self.note(match[1], body)

    def members(self, match, query, body):
        return {"groups": [self.group()["group"]], "usersAssignedDirectly": [user(2, "determined")], "assignments": [EDITOR_WITH]}

    def get_tokens(self, match, query, body):
        wanted = query.get("tokenIds")
        return {"tokenInfo": [t for t in (token(12), token(13, revoked=True)) if not wanted or str(t["id"]) in wanted], "pagination": page(2)}

    def post_token(self, match, query, body):
        self.note("create token", body)
        return {"token": "v2.public.secret", "tokenId": 14}

    def patch_token(self, match, query, body):
        self.note(f"change token {match[1]}", body)
        return {"tokenInfo": token(int(match[1]), revoked=bool(body.get("setRevoked")))}

    def policies(self, match, query, body):
        return {"configPolicies": {"constraints": {"resources": {"max_slots": 4}}, "invariant_config": {"description": match[2]}}}

    def put_policies(self, match, query, body):
        self.note("policies", body)
        return self.policies(match, query, body)

    def oauth_clients(self, match, query, body):
        return ({"id": "4f2a", "name": "portal", "domain": "https://portal.example"},)  # no list, which would be a stream

    def add_client(self, match, query, body):
        self.note("add client", body)
        return {"id": "4f2b", "secret": "s3cret", **body}

    def remove_client(self, match, query, body):
        return self.note("remove client", match[1])

    def get_bindings(self, match, query, body):
        return {"namespaceBindings": self.namespaces}

    def set_bindings(self, match, query, body):
        self.note("bind", body)
        return {"namespaceBindings": {key: {"workspaceId": 1, "namespace": meta.get("namespace") or "made", "clusterName": key, "autoCreateNamespace": False}
                                      for key, meta in body["clusterNamespaceMeta"].items()}}

    def delete_bindings(self, match, query, body):
        return self.note("unbind", query)

    def quota(self, match, query, body):
        return self.note("quota", body)

    def cluster_message(self, match, query, body):
        return {"clusterMessage": message("api.v1.ClusterMessage", message="new disks tonight", startTime=TIME, createdTime=TIME)}

    def put_cluster_message(self, match, query, body):
        return self.note("cluster message", body)

    def patch_config(self, match, query, body):
        return self.note("config", body)

    def get_agent(self, match, query, body):
        return {"agent": next(a for a in self.agents(match, query, body)["agents"] if a["id"] == match[1])}

    def preview(self, match, query, body):
        return {"summary": message("experiment.v1.SearchSummary", config={"name": "single"})}

    def environments(self, match, query, body):
        host = message("api.v1.HostEnvironment", hostname=f"node{match[1]}")
        return {"environments": [message("api.v1.AllocationEnvironment", allocationId="1.task-1.0", agentId="b", host=host)]}

    def workspaces_of_pool(self, match, query, body):
        return message("api.v1.ListWorkspacesBoundToRPResponse", workspaceIds=[1], pagination=page(1))

    def pools_of_workspace(self, match, query, body):
        return message("api.v1.ListRPsBoundToWorkspaceResponse", resourcePools=["default"], pagination=page(1))

    def raw(self, match, query, body):
        return {"resourceEntries": [message("master.v1.ResourceAllocationRawEntry", kind="experiment", startTime=TIME, username="ann", seconds=60.5, slots=2)]}

    def aggregated(self, match, query, body):
        return {"resourceEntries": [message("master.v1.ResourceAllocationAggregatedEntry", periodStart="2026-11-21", seconds=60.5)]}

    def pending_agents(self, match, query, body):
        return {"agents": [message("agent.v1.PendingAgent", id="far", fingerprint="0000-" * 7 + "0000", firstSeen=TIME, lastSeen=TIME)]}

    def join_tokens(self, match, query, body):
        return {"joinTokens": [message("agent.v1.JoinToken", id=1, usesMax=1, createdAt=TIME, expiry=TIME)]}

    def post_join_token(self, match, query, body):
        return {"token": "join-det1.secret", "joinToken": message("agent.v1.JoinToken", id=2, usesMax=1, createdAt=TIME, expiry=TIME)}

    def label_agent(self, match, query, body):
        return self.note("label", body)

    def quotas(self, match, query, body):
        return {"quotas": [message("workspace.v1.Quota", workspaceId=1, name="Uncategorized", slots=4, limit=8)]}

    ROUTES = [
        ("GET", r"/api/v1/master", get_master),
        ("GET", r"/api/v1/models", models), ("POST", r"/api/v1/models", post_model), ("GET", r"/api/v1/models/([^/]+)", get_model),
        ("PATCH", r"/api/v1/models/([^/]+)", patch_model), ("DELETE", r"/api/v1/models/([^/]+)", delete_model),
        ("GET", r"/api/v1/models/([^/]+)/versions", versions), ("POST", r"/api/v1/models/([^/]+)/versions", post_version),
        ("GET", r"/api/v1/models/([^/]+)/versions/(\w+)", get_version),
        ("GET", r"/api/v1/models/([^/]+)/aliases", aliases), ("PUT", r"/api/v1/models/([^/]+)/aliases/([^/]+)", put_alias),
        ("DELETE", r"/api/v1/models/([^/]+)/aliases/([^/]+)", delete_alias),
        ("POST", r"/api/v1/groups/search", groups), ("POST", r"/api/v1/groups", create_group), ("GET", r"/api/v1/groups/(\d+)", get_group),
        ("PUT", r"/api/v1/groups/(\d+)", update_group), ("DELETE", r"/api/v1/groups/(\d+)", delete_group),
        ("POST", r"/api/v1/roles/search", roles), ("POST", r"/api/v1/roles/search/by-assignability", roles),
        ("POST", r"/api/v1/roles/search/by-ids", roles_by_id), ("GET", r"/api/v1/roles/search/by-user/(\d+)", roles_of_user),
        ("GET", r"/api/v1/roles/search/by-group/(\d+)", roles_of_group), ("GET", r"/api/v1/permissions/summary", summary),
        ("POST", r"/api/v1/roles/(add|remove)-assignments", change_roles), ("GET", r"/api/v1/roles/workspace/(\d+)", members),
        ("GET", r"/api/v1/tokens", get_tokens), ("POST", r"/api/v1/tokens", post_token), ("PATCH", r"/api/v1/tokens/(\d+)", patch_token),
        ("GET", r"/api/v1/config-policies/(global|workspaces/1)/(\w+)", policies), ("PUT", r"/api/v1/config-policies/(global|workspaces/1)/(\w+)", put_policies),
        ("DELETE", r"/api/v1/config-policies/(global|workspaces/1)/(\w+)", lambda self, match, query, body: self.note(f"delete {match[1]} {match[2]}", body)),
        ("GET", r"/oauth2/clients", oauth_clients), ("POST", r"/oauth2/clients", add_client), ("DELETE", r"/oauth2/clients/([^/]+)", remove_client),
        ("GET", r"/api/v1/workspaces/(\d+)/list-namespace-bindings", get_bindings),
        ("POST", r"/api/v1/workspaces/(\d+)/namespace-bindings", set_bindings), ("DELETE", r"/api/v1/workspaces/(\d+)/namespace-bindings", delete_bindings),
        ("POST", r"/api/v1/workspaces/(\d+)/set-resource-quota", quota),
        ("GET", r"/api/v1/master/cluster_message", cluster_message), ("PUT", r"/api/v1/master/cluster_message", put_cluster_message),
        ("DELETE", r"/api/v1/master/cluster_message", put_cluster_message), ("PATCH", r"/api/v1/master/config", patch_config),
        ("GET", r"/api/v1/agents/([^/]+)", get_agent), ("POST", r"/api/v1/preview-hp-search", preview),
        ("GET", r"/api/v1/trials/(\d+)/environments", environments),
        ("GET", r"/api/v1/resource-pools/([^/]+)/workspace-bindings", workspaces_of_pool),
        ("GET", r"/api/v1/workspaces/(\d+)/available-resource-pools", pools_of_workspace),
        ("GET", r"/api/v1/resources/allocation/raw", raw), ("GET", r"/api/v1/resources/allocation/aggregated", aggregated),
        ("GET", r"/api/v1/pending-agents", pending_agents), ("GET", r"/api/v1/join-tokens", join_tokens),
        ("POST", r"/api/v1/join-tokens", post_join_token), ("POST", r"/api/v1/agents/([^/]+)/label", label_agent), ("GET", r"/api/v1/quotas", quotas),
        ("GET", r"/users/me", lambda self, match, query, body: {"username": "determined"}),
        *clients.Master.ROUTES,
    ]
    TEXTS = {"/resources/allocation/raw": RAW_CSV, "/resources/allocation/allocations-csv": ALLOCATIONS_CSV, "/resources/allocation/aggregated": AGGREGATED_CSV,
             "/resources/allocation/summary": SUMMARY_CSV}

    def answer(self, exchange):
        path = exchange.path.split("?")[0]
        if path not in self.TEXTS:
            return super().answer(exchange)
        self.requests.append((exchange.command, path, urllib.parse.parse_qs(exchange.path.partition("?")[2]), None))
        return exchange.reply_text(self.TEXTS[path])

    def find(self, method, path, query, body, token):
        if path == "/info":
            return super().find(method, path, query, body, token) | {"sso_providers": self.sso_providers}
        return super().find(method, path, query, body, token)
