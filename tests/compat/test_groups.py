"""Groups and roles: the bindings of the released library, and `det user-group` and `det rbac`, against our master. The commands of the
released client make no request as long as `rbacEnabled` of the master is false."""
import pytest
from released import Ours
from support.cluster import BUILD


@pytest.fixture
def ours(admin):
    return Ours(BUILD / "det", admin)


def test_the_released_library_makes_groups_and_gives_roles(admin, ours):
    got = admin.sdk("""
        from determined.common import api
        from determined.common.api import authentication, bindings, certs
        url = os.environ['DET_MASTER']
        session = authentication.login(url, os.environ['DET_USER'], os.environ['DET_PASS'], certs.default_load(url))
        user = api.usernames_to_user_ids(session, ['determined'])[0]
        made = bindings.post_CreateGroup(session, body=bindings.v1CreateGroupRequest(name='released', addUsers=[user])).group
        group, role = api.group_name_to_group_id(session, 'released'), api.role_name_to_role_id(session, 'Editor')
        bindings.post_AssignRoles(session, body=bindings.v1AssignRolesRequest(
            groupRoleAssignments=api.create_group_assignment_request(session, group='released', role='Editor', workspace='Uncategorized'),
            userRoleAssignments=api.create_user_assignment_request(session, user='determined', role='Viewer', workspace=None)))
        roles = bindings.get_GetRolesAssignedToUser(session, userId=user).roles
        of_group = bindings.get_GetRolesAssignedToGroup(session, groupId=group)
        place = bindings.get_GetGroupsAndUsersAssignedToWorkspace(session, workspaceId=1)
        mine = bindings.get_GetPermissionsSummary(session)
        try:
            api.group_name_to_group_id(session, 'no such group')
            missing = None
        except Exception as e:
            missing = str(e)
        return dict(same=made.groupId == group, role=role, members=[u.username for u in made.users], roles=[r.role.name for r in roles],
                    groups=[g.name for g in place.groups], scopes=[a.scopeWorkspaceIds for a in of_group.assignments], missing=missing,
                    mine=[[r.name for r in mine.roles], [a.scopeCluster for a in mine.assignments]],
                    kinds=sorted({p.id.name for p in roles[0].role.permissions})[:2])
    """)
    assert got["same"] and got["role"] == 5 and got["members"] == ["determined"] and got["roles"] == ["Viewer", "Editor"]
    assert got["groups"] == ["released"] and got["scopes"] == [[1]] and got["mine"] == [["ClusterAdmin"], [True]]
    assert "no such group" in got["missing"] and got["kinds"] == ["VIEW_EXPERIMENT_ARTIFACTS", "VIEW_EXPERIMENT_METADATA"]
    # our commands see and undo what it has done
    assert "released" in ours("user-group list") and "determined" in ours("user-group describe released")
    assert "Editor" in ours("rbac list-groups-roles released") and "Viewer" in ours("rbac list-users-roles determined")
    assert "released" in ours("workspace list-members Uncategorized")
    ours("rbac unassign-role Viewer -u determined")
    ours("rbac unassign-role Editor -g released -w Uncategorized")
    ours("user-group delete released --yes")
    assert "released" not in ours("user-group list") and ours("rbac list-users-roles determined") == "user has no role assignments\n"


def test_our_commands_from_a_group_to_its_roles(ours):
    ours("user-group create vision --add-user determined")
    ours("user-group change-name vision sight")
    ours("user-group add-user sight admin")
    ours("user-group remove-user sight determined")
    shown = ours("user-group describe sight")
    assert "admin" in shown and "determined" not in shown
    ours("rbac assign-role Viewer -g sight")
    assert "sight" in ours("rbac describe-role Viewer") and "Viewer" in ours("rbac list-groups-roles sight")
    assert "CREATE_WORKSPACE" in ours("rbac my-permissions") and "EditorRestricted" in ours("rbac list-roles --exclude-global-roles")
    assert "ClusterAdmin" not in ours("rbac list-roles --exclude-global-roles")
    refused = ours.run("rbac assign-role ClusterAdmin -g sight -w Uncategorized")
    assert refused.status == 1 and "the whole cluster" in refused.err, refused
    ours("user-group delete sight --yes")
