//! The columns of the gate's tables, the same on both backends; `migrations/` has the constraints.

diesel::table! {
    people (id) {
        id -> Text,
        email -> Text,
        role -> Text,
        password_hash -> Text,
        enabled -> Bool,
        created_at -> Timestamp,
        lock_no -> BigInt,
    }
}

diesel::table! {
    agents (id) {
        id -> Text,
        name -> Text,
        owner_id -> Nullable<Text>,
        scopes -> Text,
        created_at -> Timestamp,
        revoked_at -> Nullable<Timestamp>,
        lock_no -> BigInt,
    }
}

diesel::table! {
    credentials (prefix) {
        prefix -> Text,
        mac -> Text,
        agent_id -> Nullable<Text>,
        person_id -> Nullable<Text>,
        created_at -> Timestamp,
        revoked_at -> Nullable<Timestamp>,
    }
}

diesel::table! {
    sessions (prefix) {
        prefix -> Text,
        mac -> Text,
        person_id -> Text,
        address -> Nullable<Text>,
        created_at -> Timestamp,
        expires_at -> Timestamp,
        ended_at -> Nullable<Timestamp>,
        lock_no -> BigInt,
    }
}

diesel::table! {
    actions (id) {
        id -> Text,
        kind -> Text,
        kind_version -> Integer,
        agent_id -> Text,
        slot_key -> Text,
        attempt -> BigInt,
        previous_action_id -> Nullable<Text>,
        requested_params -> Text,
        effective_params -> Text,
        fingerprint -> Text,
        reason -> Text,
        digest -> Text,
        summary -> Text,
        headline -> Text,
        figure -> Text,
        status -> Text,
        requested_at -> Timestamp,
        expires_at -> Timestamp,
        decided_at -> Nullable<Timestamp>,
        decided_by -> Nullable<Text>,
        decision_note -> Nullable<Text>,
        changes -> Nullable<Text>,
        result -> Nullable<Text>,
        refusal_rule -> Nullable<Text>,
        refusal_message -> Nullable<Text>,
        lock_no -> BigInt,
        pruned_at -> Nullable<Timestamp>,
        amount -> Nullable<BigInt>,
        unit -> Nullable<Text>,
    }
}

diesel::table! {
    action_subjects (action_id, subject) {
        action_id -> Text,
        subject -> Text,
        version -> BigInt,
        expires_at -> Nullable<Timestamp>,
    }
}

diesel::table! {
    slots (principal_id, key) {
        principal_id -> Text,
        key -> Text,
        fingerprint -> Text,
        action_id -> Nullable<Text>,
        attempt -> BigInt,
        touches -> BigInt,
    }
}

diesel::table! {
    write_buckets (agent_id) {
        agent_id -> Text,
        arrival_at -> Timestamp,
    }
}

diesel::table! {
    pauses (target) {
        target -> Text,
        paused_by -> Nullable<Text>,
        paused_at -> Timestamp,
        restored_from -> Nullable<Timestamp>,
    }
}

diesel::table! {
    secret_mark (one) {
        one -> Integer,
        salt -> Text,
        mac -> Text,
    }
}

diesel::table! {
    floods (event, actor_kind, actor_id, door, address, code, minute) {
        event -> Text,
        actor_kind -> Text,
        actor_id -> Text,
        door -> Text,
        address -> Text,
        code -> Text,
        minute -> Timestamp,
        denials -> BigInt,
    }
}

diesel::table! {
    audit_events (seq) {
        seq -> BigInt,
        id -> Text,
        at -> Timestamp,
        category -> Text,
        event -> Text,
        actor_kind -> Text,
        actor_id -> Nullable<Text>,
        action_id -> Nullable<Text>,
        subject -> Nullable<Text>,
        outcome -> Text,
        denied -> Bool,
        body -> Text,
    }
}

diesel::table! {
    notices (id) {
        id -> Text,
        topic -> Text,
        at -> Timestamp,
        due_at -> Timestamp,
        action_id -> Nullable<Text>,
        person_id -> Nullable<Text>,
        detail -> Text,
    }
}

diesel::table! {
    outbox (id) {
        id -> Text,
        channel -> Text,
        person_id -> Text,
        bundle -> Text,
        status -> Text,
        due_at -> Timestamp,
        attempts -> BigInt,
        lease -> Nullable<Text>,
        leased_until -> Nullable<Timestamp>,
        last_error -> Nullable<Text>,
        created_at -> Timestamp,
        begun_at -> Nullable<Timestamp>,
        ended_at -> Nullable<Timestamp>,
    }
}

diesel::table! {
    outbox_items (message_id, notice_id) {
        message_id -> Text,
        notice_id -> Text,
        topic -> Text,
        at -> Timestamp,
        action_id -> Nullable<Text>,
        detail -> Text,
    }
}

diesel::table! {
    notification_settings (person_id) {
        person_id -> Text,
        time_zone -> Text,
        quiet_from -> Nullable<Integer>,
        quiet_until -> Nullable<Integer>,
    }
}

diesel::table! {
    notification_rules (person_id, kind, unit, from_amount) {
        person_id -> Text,
        kind -> Text,
        unit -> Text,
        from_amount -> BigInt,
        timing -> Text,
    }
}

diesel::table! {
    notification_mutes (person_id, list) {
        person_id -> Text,
        list -> Text,
        muted_at -> Timestamp,
    }
}

diesel::joinable!(outbox_items -> outbox (message_id));
diesel::joinable!(action_subjects -> actions (action_id));
diesel::allow_tables_to_appear_in_same_query!(actions, action_subjects, agents);
diesel::allow_tables_to_appear_in_same_query!(outbox, outbox_items, people);
diesel::allow_tables_to_appear_in_same_query!(outbox_items, actions);
